"""The same assets and checks for the command line: in this process, without a daemon and without a trace of a run."""

import logging
from collections.abc import Iterator
from contextlib import contextmanager

import dagster as dg

from pageindex_local.build import BuildJob, BuiltTree
from pageindex_local.collection import BuiltVersion, DocumentBuilder
from pageindex_local.errors import PageindexError, TreeError
from pageindex_local.llm.lazy import LazyModel
from pageindex_local.parsing.parser_process import ParserProcess
from pageindex_local.planning import Scope
from pageindex_local.progress import NO_PROGRESS, Progress
from pageindex_local.records import ParsedDocument
from pageindex_local.settings import Settings
from pageindex_local.store.index import IndexStore
from pageindex_local.store.records import VersionRef
from pipelines.checks import ALL_CHECKS
from pipelines.jobs import DOCUMENT_ASSETS
from pipelines.partitions import add_documents
from pipelines.resources import Workspace

_CAUSE = "The above exception was caused by the following exception:"
_QUIET = {"loggers": {"console": {"config": {"log_level": "CRITICAL"}}}}


class HandOver(dg.IOManager):
    """Keeps stage outputs in memory for the one run it is made for."""

    def __init__(self) -> None:
        self._values: dict[tuple[str, ...], object] = {}

    def handle_output(self, context: dg.OutputContext, obj: object) -> None:
        """Keep an output."""
        self._values[tuple(context.get_identifier())] = obj

    def load_input(self, context: dg.InputContext) -> object:
        """Hand an output on."""
        if context.upstream_output is None:
            raise dg.Failure("only outputs of stages can be read", allow_retries=False)
        return self._values[tuple(context.upstream_output.get_identifier())]


@contextmanager
def dagster_builder(
    store: IndexStore,
    settings: Settings,
    model: LazyModel | None,
    progress: Progress = NO_PROGRESS,
    parser: ParserProcess | None = None,
) -> Iterator[DocumentBuilder]:
    """A builder that materialises the assets of one document at a time, on an instance that vanishes afterwards.

    Stage outputs are handed over in memory; `parser` reads the PDFs and stays open. What a step raises comes out as the
    library's own error.
    """
    logging.getLogger("dagster").setLevel(logging.CRITICAL)
    workspace = Workspace(store, settings, model, Scope(()), progress, parser=parser)
    with dg.DagsterInstance.ephemeral() as instance:

        def build(job: BuildJob) -> BuiltVersion:
            doc_key = job.source.doc_key
            workspace.jobs[doc_key] = job
            add_documents(instance, [doc_key])
            try:
                result = dg.materialize(
                    [*DOCUMENT_ASSETS, *ALL_CHECKS],
                    partition_key=doc_key,
                    instance=instance,
                    resources={"workspace": workspace, "io_manager": HandOver()},
                    run_config=_QUIET,
                )
            except dg.DagsterExecutionInterruptedError:
                raise KeyboardInterrupt from None
            except Exception as error:
                raise library_error(error, job.source.doc_id) from error
            finally:
                del workspace.jobs[doc_key]
                progress.finish()
            return _built_version(result)

        yield build


def library_error(error: BaseException, doc_id: str) -> PageindexError:
    """The library's own error behind what Dagster raised, or a tree error that names the check that failed."""
    cause: BaseException | None = error
    while cause is not None:
        if isinstance(cause, PageindexError):
            return cause
        cause = cause.__cause__ or getattr(cause, "user_exception", None)
    return TreeError(
        f"the build failed under Dagster ({_first_cause(str(error))})",
        subject=doc_id,
        next_step="Run it again with --no-dagster to see whether Dagster is to blame.",
    )


def _first_cause(text: str) -> str:
    """What Dagster gives as the cause of all, in one line, without its stack traces."""
    return text.rpartition(_CAUSE)[2].strip().partition("\n")[0]


def _built_version(result: dg.ExecuteInProcessResult) -> BuiltVersion:
    ref: VersionRef = result.output_for_node("index_version")
    built: BuiltTree = result.output_for_node("summaries")
    document: ParsedDocument = result.output_for_node("pages")
    return BuiltVersion(
        ref, built.usage, built.nodes_reused, built.nodes_rebuilt, (*document.warnings, *built.warnings)
    )
