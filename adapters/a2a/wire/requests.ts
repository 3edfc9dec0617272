// The requests of version 1.0, each read whole: what it asks for, or every field that is wrong.
import type { JsonObject, TaskState } from '../../../src/contract/index.ts'
import {
  createFieldScope,
  type FieldScope,
  type Fields,
  finishReading,
  getMember,
  type ReadResult,
  readFlagField,
  readNumberField,
  readObjectField,
  readStructField,
  readTextField,
  readTextsField,
  reportViolation,
} from './fields.ts'
import { dropUndefined, readA2aMessage } from './message.ts'
import type { A2aMessage, A2aPushConfig } from './objects.ts'
import { parseState } from './states.ts'

export type SendRequest = {
  readonly message: A2aMessage
  readonly metadata?: JsonObject
  readonly acceptedOutputModes: readonly string[]
  readonly push?: Omit<A2aPushConfig, 'taskId'>
  readonly historyLength?: number
  readonly returnImmediately: boolean
}
export type TaskRequest = { readonly id: string; readonly historyLength?: number }
export type ListRequest = {
  readonly contextId?: string
  readonly state?: TaskState
  readonly pageSize: number
  readonly pageToken?: string
  readonly historyLength?: number
  /** ISO 8601 in UTC. */
  readonly since?: string
  readonly includeArtifacts: boolean
}
export type PushRequest = { readonly taskId: string; readonly id: string }
export type PushListRequest = { readonly taskId: string }

const maxHistory = 10_000
const maxTokenLength = 4096
const instant = /^\d{4}-\d{2}-\d{2}T\d{2}:\d{2}:\d{2}(\.\d{1,9})?(Z|[+-]\d{2}:\d{2})$/

export function readSendRequest(params: Fields): ReadResult<SendRequest> {
  const scope = createFieldScope(params)
  const at = readObjectField(scope, 'message', true)
  const message = at === undefined ? undefined : readA2aMessage(at)
  const configuration = readObjectField(scope, 'configuration')
  const metadata = readStructField(scope, 'metadata')
  const rest = configuration === undefined ? noConfiguration : readConfiguration(configuration)
  return finishReading(scope, message === undefined ? undefined : { message, ...rest, ...dropUndefined({ metadata }) })
}

const noConfiguration = { acceptedOutputModes: [], returnImmediately: false } as const

function readConfiguration(scope: FieldScope): Omit<SendRequest, 'message' | 'metadata'> {
  const at = readObjectField(scope, 'taskPushNotificationConfig')
  const push = at === undefined ? undefined : readPush(at)
  const historyLength = readHistoryLength(scope)
  return {
    acceptedOutputModes: readTextsField(scope, 'acceptedOutputModes') ?? [],
    returnImmediately: readFlagField(scope, 'returnImmediately') ?? false,
    ...(push === undefined ? {} : { push }),
    ...(historyLength === undefined ? {} : { historyLength }),
  }
}

export function readTaskRequest(params: Fields): ReadResult<TaskRequest> {
  const scope = createFieldScope(params)
  const id = readTextField(scope, 'id', { isRequired: true })
  const historyLength = readHistoryLength(scope)
  return finishReading(scope, id === undefined ? undefined : { id, ...dropUndefined({ historyLength }) })
}

export function readListRequest(params: Fields): ReadResult<ListRequest> {
  const scope = createFieldScope(params)
  return finishReading(scope, {
    ...dropUndefined({
      contextId: readTextField(scope, 'contextId'),
      state: readStateFilter(scope),
      pageToken: readTextField(scope, 'pageToken', { maxLength: maxTokenLength }),
      historyLength: readHistoryLength(scope),
      since: readInstant(scope, 'statusTimestampAfter'),
    }),
    pageSize: readNumberField(scope, 'pageSize', { min: 1, max: 100 }) ?? 50,
    includeArtifacts: readFlagField(scope, 'includeArtifacts') ?? false,
  })
}

export function readPushConfigRequest(params: Fields): ReadResult<A2aPushConfig> {
  const scope = createFieldScope(params)
  const taskId = readTextField(scope, 'taskId', { isRequired: true })
  const push = readPush(scope)
  return finishReading(scope, taskId === undefined || push === undefined ? undefined : { ...push, taskId })
}

export function readPushRequest(params: Fields): ReadResult<PushRequest> {
  const scope = createFieldScope(params)
  const taskId = readTextField(scope, 'taskId', { isRequired: true })
  const id = readTextField(scope, 'id', { isRequired: true })
  return finishReading(scope, taskId === undefined || id === undefined ? undefined : { taskId, id })
}

export function readPushListRequest(params: Fields): ReadResult<PushListRequest> {
  const scope = createFieldScope(params)
  const taskId = readTextField(scope, 'taskId', { isRequired: true })
  // There are never more than fit on one page, so that no token of ours can come back.
  readNumberField(scope, 'pageSize', { min: 0, max: 1000 })
  if (readTextField(scope, 'pageToken', { maxLength: maxTokenLength }) !== undefined)
    reportViolation(scope, 'pageToken', 'is not a token of this list')
  return finishReading(scope, taskId === undefined ? undefined : { taskId })
}

function readPush(scope: FieldScope): Omit<A2aPushConfig, 'taskId'> | undefined {
  const url = readTextField(scope, 'url', { isRequired: true, maxLength: 2048 })
  const at = readObjectField(scope, 'authentication')
  const authentication = at === undefined ? undefined : readAuthentication(at)
  const optional = dropUndefined({
    id: readTextField(scope, 'id', { maxLength: 128 }),
    token: readTextField(scope, 'token', { maxLength: maxTokenLength }),
  })
  if (url === undefined) return undefined
  return { url, ...optional, ...(authentication === undefined ? {} : { authentication }) }
}

function readAuthentication(scope: FieldScope): NonNullable<A2aPushConfig['authentication']> | undefined {
  const scheme = readTextField(scope, 'scheme', { isRequired: true, maxLength: 64 })
  const credentials = readTextField(scope, 'credentials', { maxLength: maxTokenLength })
  // RFC 9110 section 5.6.2: anything else would not stay in its place in a header.
  if (scheme !== undefined && !/^[!#$%&'*+.^_`|~\w-]+$/.test(scheme))
    reportViolation(scope, 'scheme', 'must be one word')
  return scheme === undefined ? undefined : { scheme, ...dropUndefined({ credentials }) }
}

function readHistoryLength(scope: FieldScope): number | undefined {
  return readNumberField(scope, 'historyLength', { min: 0, max: maxHistory })
}

function readStateFilter(scope: FieldScope): TaskState | undefined {
  const name = readTextField(scope, 'status')
  if (name === undefined || name === 'TASK_STATE_UNSPECIFIED') return undefined
  return parseState(name) ?? reportViolation(scope, 'status', 'is not a state of tasks')
}

function readInstant(scope: FieldScope, name: string): string | undefined {
  const value = getMember(scope.of, name)
  if (value === undefined || value === null || value === '') return undefined
  const ms = typeof value === 'string' && instant.test(value) ? Date.parse(value) : Number.NaN
  return Number.isNaN(ms)
    ? reportViolation(scope, name, 'must be a time such as 2026-01-31T09:00:00.000Z')
    : new Date(ms).toISOString()
}
