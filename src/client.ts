// `parley-gateway/client`: a gateway's API for programs. Needs nothing but fetch, so it works in browsers, in Node and in Workers.

import type { PendingAction } from './api/approvals.ts'
import type { Attachment } from './api/attachments.ts'
import type { HistoryLine, HistoryMessage } from './api/history.ts'
import type { CancelledRun } from './api/runs.ts'
import type { Session } from './api/sessions.ts'
import type { ExecutionTarget, TaskInput, TaskResult } from './api/task-schemas.ts'
import type { ToolRequest } from './api/tool-requests.ts'
import { createClientOperations } from './client/operations.ts'
import { type CallOptions, type ClientOptions, createRequestMethods } from './client/request.ts'
import {
  type RunInput,
  type RunOutcome,
  requestRun,
  type StreamedEvent,
  type StreamOptions,
  streamRun,
} from './client/run.ts'

export {
  type CallOptions,
  type ClientOptions,
  ParleyError,
  readEventStream,
  type ServerEvent,
} from './client/request.ts'
export type * from './client/run.ts'
export type {
  Attachment,
  ExecutionTarget,
  HistoryLine,
  HistoryMessage,
  PendingAction,
  Session,
  TaskInput,
  TaskResult,
  ToolRequest,
}

export type PageOptions = { readonly limit?: number; readonly before?: string }
export type Placement = {
  readonly preferred_target?: string
  readonly allowed_targets?: readonly string[]
  readonly resource_class?: string
  readonly required_capabilities?: readonly string[]
}

export type ParleyClient = ReturnType<typeof createClient>

export function createClient(options: ClientOptions) {
  const request = createRequestMethods(options)
  return {
    /** Says something to an agent and waits for its answer. */
    run: (input: RunInput, call?: CallOptions): Promise<RunOutcome> => requestRun(request, input, call),
    /** The same, event by event; a broken stream is taken up again behind the last event seen. */
    stream: (input: RunInput, call?: StreamOptions): AsyncGenerator<StreamedEvent> => streamRun(request, input, call),
    cancelRun: (runId: string, call?: CallOptions): Promise<CancelledRun> =>
      request.json('POST', `/api/v1/agent/runs/${encodeURIComponent(runId)}/cancel`, call),
    ...createHistoryAndFileMethods(request),
    ...createClientOperations(request),
    tasks: createTaskMethods(request),
  }
}

type Requests = ReturnType<typeof createRequestMethods>

function createHistoryAndFileMethods({ json }: Requests) {
  return {
    history: (threadId: string, page: PageOptions = {}, call?: CallOptions): Promise<{ messages: HistoryMessage[] }> =>
      json('GET', '/api/v1/agent/history', { ...call, query: { ...page, threadId } }),
    historyWithMetadata: (
      threadId: string,
      page: PageOptions = {},
      call?: CallOptions,
    ): Promise<{ messages: HistoryLine[] }> =>
      json('GET', '/api/v1/agent/history', { ...call, query: { ...page, threadId, format: 'metadata' } }),
    attachments: {
      upload(
        file: Blob,
        about: { threadId?: string; runId?: string; name?: string } = {},
        call?: CallOptions,
      ): Promise<Attachment> {
        const form = new FormData()
        const { name = 'file', ...fields } = about
        for (const [field, value] of Object.entries(fields)) if (value !== undefined) form.append(field, value)
        form.append('file', file, name)
        return json('POST', '/api/v1/agent/attachments', { ...call, body: form })
      },
      signedUrl: (
        at: { bucket: string; path: string },
        call?: CallOptions,
      ): Promise<{ bucket: string; path: string; url: string }> =>
        json('GET', '/api/v1/agent/attachments/signed-url', { ...call, query: { bucket: at.bucket, path: at.path } }),
    },
  }
}

function createTaskMethods({ json }: Requests) {
  return {
    /** `waitSeconds`: answer when it is done, at most so much later. */
    run: (
      input: TaskInput,
      { waitSeconds, ...call }: CallOptions & { waitSeconds?: number } = {},
    ): Promise<TaskResult> => {
      const prefer = waitSeconds === undefined ? {} : { prefer: `wait=${Math.ceil(waitSeconds)}` }
      return json('POST', '/api/v1/tasks/run-task', { ...call, headers: { ...call.headers, ...prefer }, json: input })
    },
    targets: (placement: Placement = {}, call?: CallOptions): Promise<{ targets: ExecutionTarget[] }> =>
      json('GET', '/api/v1/tasks/list-execution-targets', { ...call, query: { ...placement } }),
    get: (runId: string, call?: CallOptions): Promise<TaskResult> =>
      json('GET', '/api/v1/tasks/get-task-run', { ...call, query: { run_id: runId } }),
    cancel: (runId: string, call?: CallOptions): Promise<{ cancelled: boolean; result: TaskResult }> =>
      json('POST', '/api/v1/tasks/cancel-task-run', { ...call, json: { run_id: runId } }),
  }
}
