"""Buckets over obstore that no address opens: one in memory, and S3's, which the program reaches by boto3."""

from dataclasses import replace

from obstore.store import MemoryStore, S3Store

from pageindex_local.store.clouds import CloudBucket
from pageindex_local.store.places import BucketPath
from pageindex_local.store.services import AZURE

# Both compare ETags, as Azure does.
_BY_E_TAG = replace(AZURE, bucket="bucket", addresses=("AWS_ENDPOINT_URL_S3",), accounts=())


def open_memory(place: BucketPath) -> CloudBucket:
    """An empty bucket in memory."""
    return CloudBucket(MemoryStore(), place.bucket, _BY_E_TAG)


def open_amazon(place: BucketPath) -> CloudBucket:
    """A bucket of the S3 server that the environment names."""
    store = S3Store(place.bucket, client_options={"allow_http": True}, retry_config={"max_retries": 0})
    return CloudBucket(store, place.bucket, _BY_E_TAG)
