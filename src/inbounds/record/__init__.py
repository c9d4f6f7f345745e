"""Records of releases, as text that can be verified."""

from inbounds.record.codec import FORMAT as FORMAT
from inbounds.record.codec import RecordError as RecordError
from inbounds.record.record import Releases as Releases
from inbounds.record.release import Bound as Bound
from inbounds.record.release import ColumnRule as ColumnRule
from inbounds.record.release import Release as Release
