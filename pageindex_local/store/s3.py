"""S3 and services like it, by boto3: objects in and out, and each failure as a sentence. The only importer of boto3.

Credentials, region, endpoint and retries are those that every S3 tool takes from the environment and from ~/.aws.
"""

import random
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any

from pageindex_local.errors import StoreError
from pageindex_local.store.objects import CONDITIONS, ConditionError, StoredObject
from pageindex_local.store.places import BucketPath

try:
    import boto3
    from botocore.config import Config
    from botocore.exceptions import (
        BotoCoreError,
        ClientError,
        CredentialRetrievalError,
        HTTPClientError,
        NoCredentialsError,
        ParamValidationError,
        PartialCredentialsError,
    )
    from botocore.exceptions import (
        ConnectionError as BotoConnectionError,
    )
except ModuleNotFoundError as missing:
    raise StoreError(
        f"an index in a bucket needs a library that is not installed ({missing.name})",
        next_step="Install it: pip install 'pageindex-local[s3]'",
    ) from None

_RACES = 8  # how often a put is tried that the service could not decide
_PAGE = 1_000
_CREDENTIALS = "Set AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY, or AWS_PROFILE; see docs/buckets.md."
_RIGHTS = (
    "Check the credentials (AWS_ACCESS_KEY_ID, AWS_PROFILE) and their rights: reading needs s3:GetObject and "
    "s3:ListBucket, writing s3:PutObject and s3:DeleteObject as well."
)
_NETWORK = "Check the network, AWS_ENDPOINT_URL_S3 and AWS_REGION, then run the command again."


class S3Bucket:
    """`Bucket` over one client."""

    def __init__(self, client: Any) -> None:
        self._client = client

    @property
    def endpoint(self) -> str:
        """See Bucket."""
        return str(self._client.meta.endpoint_url)

    def get(self, place: BucketPath) -> tuple[bytes, str]:
        """See Bucket."""
        with _explained(place):
            answer = self._client.get_object(Bucket=place.bucket, Key=place.key)
            return answer["Body"].read(), answer["ETag"]

    def put(self, place: BucketPath, data: bytes, tag: str | None) -> str:
        """See Bucket."""
        condition = {"IfNoneMatch": "*"} if tag is None else {"IfMatch": tag}
        for attempt in range(_RACES):
            with _explained(place):
                try:
                    answer = self._client.put_object(Bucket=place.bucket, Key=place.key, Body=data, **condition)
                except ClientError as error:
                    code, status = _code(error)
                    if status == 412 or (tag is not None and code == "NoSuchKey"):
                        raise ConditionError from None
                    # Two conditional puts at the same moment: the service asks the one that it stopped to try again.
                    if status != 409 or attempt == _RACES - 1:
                        raise
                else:
                    return str(answer["ETag"])
            time.sleep(random.uniform(0.01, 0.05) * 2**attempt)
        raise AssertionError("unreachable")

    def find(self, place: BucketPath) -> StoredObject | None:
        """See Bucket."""
        if not place.key:
            return None
        try:
            with _explained(place):
                answer = self._client.head_object(Bucket=place.bucket, Key=place.key)
        except FileNotFoundError:
            return None
        return StoredObject(place, answer["ContentLength"], answer["LastModified"].timestamp())

    def list_below(self, place: BucketPath, limit: int | None = None, *, page: int = _PAGE) -> list[StoredObject]:
        """See Bucket. `page` is how many objects the service may name at once."""
        found: list[StoredObject] = []
        for answer in self._pages(place, MaxKeys=page if limit is None else limit):
            for entry in answer.get("Contents", ()):
                there = BucketPath("/", place.bucket, entry["Key"])
                found.append(StoredObject(there, entry["Size"], entry["LastModified"].timestamp()))
            if limit is not None and len(found) >= limit:
                break
        return found

    def list_names(self, place: BucketPath, *, page: int = _PAGE) -> list[str]:
        """See Bucket. `page` is how many objects the service may name at once."""
        names: set[str] = set()
        start = len(_prefix(place))
        for answer in self._pages(place, MaxKeys=page, Delimiter="/"):
            names.update(entry["Key"][start:] for entry in answer.get("Contents", ()))
            names.update(entry["Prefix"][start:].rstrip("/") for entry in answer.get("CommonPrefixes", ()))
        return sorted(names - {""})

    def delete(self, places: Sequence[BucketPath]) -> None:
        """See Bucket. One by one: services differ in the checksum that a list of deletions needs."""
        for place in places:
            with _explained(place):
                self._client.delete_object(Bucket=place.bucket, Key=place.key)

    def _pages(self, place: BucketPath, **options: Any) -> Iterator[dict[str, Any]]:
        token: dict[str, str] = {}
        while True:
            with _explained(place):
                page = self._client.list_objects_v2(Bucket=place.bucket, Prefix=_prefix(place), **options, **token)
            yield page
            if not page.get("IsTruncated"):
                return
            token = {"ContinuationToken": page["NextContinuationToken"]}


def open_s3() -> S3Bucket:
    """A client as the environment configures it.

    Raises:
        StoreError: the configuration cannot be used.
    """
    config = Config(
        connect_timeout=10,
        read_timeout=60,
        # Services like S3 refuse the checksums that newer clients add; every file is hashed by us anyway.
        request_checksum_calculation="when_required",
        response_checksum_validation="when_required",
    )
    try:
        return S3Bucket(boto3.Session().client("s3", config=config))
    except (BotoCoreError, ValueError) as error:
        raise StoreError(
            f"the configuration for buckets cannot be used ({error})", next_step=f"{_CREDENTIALS} {_NETWORK}"
        ) from None


def _prefix(place: BucketPath) -> str:
    return f"{place.key}/" if place.key else ""


def _code(error: Any) -> tuple[str, int]:
    response = error.response
    return str(response.get("Error", {}).get("Code", "")), int(
        response.get("ResponseMetadata", {}).get("HTTPStatusCode", 0)
    )


@contextmanager
def _explained(place: BucketPath) -> Iterator[None]:
    """Turn what boto3 raises into FileNotFoundError, or a StoreError that says what to do."""
    try:
        yield
    except ClientError as error:
        raise _from_answer(error, place) from None
    except (NoCredentialsError, PartialCredentialsError, CredentialRetrievalError) as error:
        raise StoreError(
            f"no usable credentials for the bucket ({error})", subject=str(place), next_step=_CREDENTIALS
        ) from None
    except ParamValidationError:
        raise StoreError(
            "is no name for a bucket or an object", subject=str(place), next_step="Write s3://bucket/prefix."
        ) from None
    except (BotoConnectionError, HTTPClientError) as error:
        raise StoreError(f"the bucket cannot be reached ({error})", subject=str(place), next_step=_NETWORK) from None
    except BotoCoreError as error:
        raise StoreError(f"the bucket cannot be used ({error})", subject=str(place), next_step=_NETWORK) from None


def _from_answer(error: Any, place: BucketPath) -> Exception:
    code, status = _code(error)
    if code == "NoSuchBucket":
        return StoreError(
            "there is no such bucket",
            subject=f"s3://{place.bucket}",
            next_step="Create it first, or check its name, AWS_REGION and AWS_ENDPOINT_URL_S3.",
        )
    if status == 404:
        return FileNotFoundError(2, "No such file", str(place))
    if status in (401, 403) or code in ("InvalidAccessKeyId", "SignatureDoesNotMatch", "ExpiredToken"):
        return StoreError(f"access denied ({code or status})", subject=str(place), next_step=_RIGHTS)
    if status == 501:
        return StoreError(
            "the service of this bucket does not know conditional writes (If-None-Match, If-Match)",
            subject=str(place),
            next_step=CONDITIONS,
        )
    if status >= 500 or status == 429 or code == "SlowDown":
        return StoreError(
            f"the service of this bucket failed ({status} {code})",
            subject=str(place),
            next_step="Run the command again; finished work is not repeated.",
        )
    return StoreError(f"the bucket refused ({status} {code})", subject=str(place), next_step=_NETWORK)
