"""The form of a record of the Differential Privacy Deployments Registry, as its schema of July 2026 has it.

Written down from opendp/deployments-registry-data: the keys, the words that are allowed, and what must be given.
"""

import jsonschema

TEXT = {"type": "string"}
TEXTS = {"type": "array", "items": TEXT, "minItems": 1}


def words(*options):
    return {"type": "string", "enum": list(options)}


def part(required=(), **keys):
    return {"type": "object", "additionalProperties": False, "required": list(required), "properties": keys}


FORM = part(
    ("url_slug", "status", "tier", "deployment"),
    url_slug=TEXT,
    status=words(
        "Converted",
        "Draft",
        "Pending",
        "Changes Required",
        "Approved",
        "Approved (Update Requested)",
        "Approved (Pending)",
    ),
    tier={"type": "integer", "enum": [1, 2, 3]},
    deployment=part(
        ("basic",),
        basic=part(
            (
                "name",
                "data_curators",
                "description",
                "intended_use",
                "data_product_type",
                "data_product_region",
                "publication_date",
            ),
            name=TEXT,
            data_curators=TEXTS,
            intended_use=TEXT,
            data_product_type=words(
                "Summary statistics",
                "Machine learning model",
                "Dataset",
                "Synthetic data",
                "Interactive API",
                "SQL queries",
            ),
            data_product_region=TEXT,
            description=TEXT,
            publication_date={"type": "string", "format": "date"},
            data_product_sector=words("Technology", "Healthcare", "Education", "Government", "Energy", "Finance"),
        ),
        dp_variant=part(
            variant_name=words("Pure DP", "Approximate DP", "Zero-concentrated DP", "Renyi DP", "Custom"),
            data_domain=TEXT,
            unprotected_quantities=TEXT,
        ),
        privacy_loss=part(
            privacy_unit=TEXT,
            privacy_unit_details=TEXT,
            privacy_parameters=part(
                epsilon={"type": "number"}, delta={"type": ["number", "string"]}, rho={"type": "number"}
            ),
            privacy_parameters_details={},
        ),
        deployment_model=part(
            model_name=words("Local", "Central", "Shuffle", "Federated", "Varies"),
            model_name_details=TEXT,
            actors=TEXT,
            release_type=words("One release", "Many releases"),
            release_type_details=TEXT,
            data_source_type=words("Static", "Dynamic"),
            data_source_type_details={},
            access_type=words("Interactive", "Non-interactive"),
            access_type_details={},
        ),
        accounting=part(post_processing=TEXT, composition=TEXT),
        implementation=part(preprocessing_and_hyperparameter_tuning=TEXT, mechanisms=TEXT, justification=TEXT),
        administrative=part(("registry_authors",), sources=TEXT, notes=TEXT, registry_authors=TEXTS),
    ),
)


def list_mistakes(record):
    """What the registry would refuse in a record, one line each."""
    validator = jsonschema.Draft7Validator(FORM, format_checker=jsonschema.Draft7Validator.FORMAT_CHECKER)
    return [f"{'.'.join(map(str, error.path))}: {error.message}" for error in validator.iter_errors(record)]
