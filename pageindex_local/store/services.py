"""What differs between services with buckets: what the environment says of them, and their failures as sentences.

Texts in, StoreError out; loads no library and makes no request.
"""

import os
import re
from dataclasses import dataclass
from typing import Literal

from pageindex_local.errors import StoreError
from pageindex_local.store.objects import CONDITIONS
from pageindex_local.store.places import BucketPath


@dataclass(frozen=True, slots=True)
class Service:
    """A kind of service. `tag` is what it compares before a put: an ETag, or a number that it gives to each content.

    Variables of the environment: `addresses` say where it is, `accounts` whose buckets are meant. `bucket` is its word.
    """

    tag: Literal["e_tag", "version"]
    bucket: str
    addresses: tuple[str, ...]
    accounts: tuple[str, ...]
    credentials: str
    rights: str

    def read_addresses(self) -> list[str]:
        """The addresses that the environment gives.

        Raises:
            StoreError: one of them is no address.
        """
        found = [(name, os.environ[name]) for name in self.addresses if os.environ.get(name)]
        for name, address in found:
            if not address.startswith(("https://", "http://")):
                raise StoreError(
                    f"the configuration for buckets cannot be used ({name} is no address)",
                    subject=address,
                    next_step="Write https://host.",
                )
        return [address for _, address in found]

    def endpoint(self) -> str:
        """What tells two services apart: buckets of one name differ by it."""
        return "\n".join(os.environ.get(name, "") for name in (*self.addresses, *self.accounts))

    def misconfigured(self, problem: str, place: BucketPath) -> StoreError:
        """The environment says something that cannot be used."""
        return StoreError(
            f"the configuration for buckets cannot be used ({problem})",
            subject=str(place),
            next_step=self.credentials,
        )

    def missing_bucket(self, place: BucketPath) -> StoreError:
        """There is no bucket of that name."""
        return StoreError(
            f"there is no such {self.bucket}",
            subject=f"{place.scheme}://{place.bucket}",
            next_step=f"Create it first, or check its name and {self._variables()}.",
        )

    def no_name(self, place: BucketPath) -> StoreError:
        """The place can be no name."""
        return StoreError(
            f"is no name for a {self.bucket} or an object",
            subject=str(place),
            next_step=f"Write {place.scheme}://{self.bucket}/prefix.",
        )

    def no_tag(self, place: BucketPath) -> StoreError:
        """An answer does not say what a condition could name."""
        return StoreError(
            "the service of this bucket does not say which version of an object it has, so no write can be conditional",
            subject=str(place),
            next_step=CONDITIONS,
        )

    def explain(self, message: str, place: BucketPath) -> StoreError:
        """What a client's report of a failed request means.

        A report holds addresses, which may hold signatures: status, code and host are all that is shown of it.
        """
        status, code = read_answer(message)
        answer, subject = f"{status} {code}".strip(), str(place)
        if "token request" in message:
            problem = f"no usable credentials for the {self.bucket} ({_find_reason(message)})"
            return StoreError(problem, subject=subject, next_step=self.credentials)
        if status == 404:
            return self.missing_bucket(place)
        if status in (401, 403):
            return StoreError(f"access denied ({code or status})", subject=subject, next_step=self.rights)
        if status == 501:
            problem = "the service of this bucket does not know what an index needs (conditional writes, lists)"
            return StoreError(problem, subject=subject, next_step=CONDITIONS)
        if "missing from response" in message:
            problem = "the service of this bucket leaves out of its answers what conditional writes need"
            return StoreError(problem, subject=subject, next_step=CONDITIONS)
        if status >= 500 or status == 429:
            problem = f"the service of this bucket failed ({answer})"
            return StoreError(
                problem, subject=subject, next_step="Run the command again; finished work is not repeated."
            )
        network = f"Check the network and {self._variables()}, then run the command again."
        if status:
            return StoreError(f"the {self.bucket} refused ({answer})", subject=subject, next_step=network)
        return StoreError(
            f"the {self.bucket} cannot be reached ({_find_reason(message)})", subject=subject, next_step=network
        )

    def _variables(self) -> str:
        return " and ".join((*self.addresses[:1], *self.accounts[:1]))


GOOGLE = Service(
    tag="version",  # the generation; Google compares no ETag before a put
    bucket="bucket",
    addresses=("GOOGLE_BASE_URL",),
    accounts=(),
    credentials=(
        "Set GOOGLE_APPLICATION_CREDENTIALS to a file of credentials, or run gcloud auth application-default login; "
        "see docs/buckets.md."
    ),
    rights=(
        "Check the credentials and their rights: reading needs storage.objects.get and storage.objects.list, writing "
        "storage.objects.create and storage.objects.delete as well."
    ),
)
AZURE = Service(
    tag="e_tag",
    bucket="container",
    addresses=("AZURE_STORAGE_ENDPOINT", "AZURITE_BLOB_STORAGE_URL"),
    accounts=("AZURE_STORAGE_ACCOUNT_NAME", "AZURE_STORAGE_ACCOUNT"),
    credentials=(
        "Set AZURE_STORAGE_ACCOUNT_NAME, and AZURE_STORAGE_ACCOUNT_KEY or another way to sign in; see docs/buckets.md."
    ),
    rights=(
        "Check the credentials and their rights: reading needs the role Storage Blob Data Reader, writing Storage Blob "
        "Data Contributor."
    ),
)


def is_bucket_missing(message: str) -> bool:
    """Whether it is the bucket that is not found, and not an object."""
    return any(code in message for code in ("NoSuchBucket", "ContainerNotFound", "specified container does not exist"))


def read_answer(message: str) -> tuple[int, str]:
    """Status and code of the service's answer; 0 and nothing where there was no answer."""
    status = re.search(r"status code: (\d{3})|\(code: (\d{3})\)", message)
    code = re.search(r"<Code>(\w+)</Code>", message)
    return int(status[1] or status[2]) if status else 0, code[1] if code else ""


def _find_reason(message: str) -> str:
    """The host that was asked, unless it is kept back with a signature, and why there was no answer."""
    host = re.search(r"https?://([^/\s?]+)", message)
    reason = re.search(r'Os \{[^}]*message: "([^"]+)"', message) or re.search(r"HttpError \{\s*kind: (\w+)", message)
    return ", ".join(found[1] for found in (host, reason) if found) or "no answer"
