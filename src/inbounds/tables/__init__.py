"""The confidential side: any table to exact integers, by public rules applied record by record."""
