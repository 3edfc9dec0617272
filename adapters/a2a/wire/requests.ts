// The requests of version 1.0, each read whole: what it asks for, or every field that is wrong.
import type { JsonObject, TaskState } from '../../../src/contract/index.ts'
import {
  type Fields,
  memberOf,
  type Reading,
  readFlag,
  readNumber,
  readObject,
  readStruct,
  readText,
  readTexts,
  type Scope,
  scopeOf,
  settled,
  wrong,
} from './fields.ts'
import { defined, readMessage } from './message.ts'
import type { A2aMessage, A2aPushConfig } from './objects.ts'
import { stateOf } from './states.ts'

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

export function readSend(params: Fields): Reading<SendRequest> {
  const scope = scopeOf(params)
  const at = readObject(scope, 'message', true)
  const message = at === undefined ? undefined : readMessage(at)
  const configuration = readObject(scope, 'configuration')
  const metadata = readStruct(scope, 'metadata')
  const rest = configuration === undefined ? noConfiguration : readConfiguration(configuration)
  return settled(scope, message === undefined ? undefined : { message, ...rest, ...defined({ metadata }) })
}

const noConfiguration = { acceptedOutputModes: [], returnImmediately: false } as const

function readConfiguration(scope: Scope): Omit<SendRequest, 'message' | 'metadata'> {
  const at = readObject(scope, 'taskPushNotificationConfig')
  const push = at === undefined ? undefined : readPush(at)
  const historyLength = readHistoryLength(scope)
  return {
    acceptedOutputModes: readTexts(scope, 'acceptedOutputModes') ?? [],
    returnImmediately: readFlag(scope, 'returnImmediately') ?? false,
    ...(push === undefined ? {} : { push }),
    ...(historyLength === undefined ? {} : { historyLength }),
  }
}

export function readTask(params: Fields): Reading<TaskRequest> {
  const scope = scopeOf(params)
  const id = readText(scope, 'id', { isRequired: true })
  const historyLength = readHistoryLength(scope)
  return settled(scope, id === undefined ? undefined : { id, ...defined({ historyLength }) })
}

export function readTaskList(params: Fields): Reading<ListRequest> {
  const scope = scopeOf(params)
  return settled(scope, {
    ...defined({
      contextId: readText(scope, 'contextId'),
      state: readState(scope),
      pageToken: readText(scope, 'pageToken', { maxLength: maxTokenLength }),
      historyLength: readHistoryLength(scope),
      since: readInstant(scope, 'statusTimestampAfter'),
    }),
    pageSize: readNumber(scope, 'pageSize', { min: 1, max: 100 }) ?? 50,
    includeArtifacts: readFlag(scope, 'includeArtifacts') ?? false,
  })
}

export function readPushConfig(params: Fields): Reading<A2aPushConfig> {
  const scope = scopeOf(params)
  const taskId = readText(scope, 'taskId', { isRequired: true })
  const push = readPush(scope)
  return settled(scope, taskId === undefined || push === undefined ? undefined : { ...push, taskId })
}

export function readPushRequest(params: Fields): Reading<PushRequest> {
  const scope = scopeOf(params)
  const taskId = readText(scope, 'taskId', { isRequired: true })
  const id = readText(scope, 'id', { isRequired: true })
  return settled(scope, taskId === undefined || id === undefined ? undefined : { taskId, id })
}

export function readPushList(params: Fields): Reading<PushListRequest> {
  const scope = scopeOf(params)
  const taskId = readText(scope, 'taskId', { isRequired: true })
  // There are never more than fit on one page, so that no token of ours can come back.
  readNumber(scope, 'pageSize', { min: 0, max: 1000 })
  if (readText(scope, 'pageToken', { maxLength: maxTokenLength }) !== undefined)
    wrong(scope, 'pageToken', 'is not a token of this list')
  return settled(scope, taskId === undefined ? undefined : { taskId })
}

function readPush(scope: Scope): Omit<A2aPushConfig, 'taskId'> | undefined {
  const url = readText(scope, 'url', { isRequired: true, maxLength: 2048 })
  const at = readObject(scope, 'authentication')
  const authentication = at === undefined ? undefined : readAuthentication(at)
  const optional = defined({
    id: readText(scope, 'id', { maxLength: 128 }),
    token: readText(scope, 'token', { maxLength: maxTokenLength }),
  })
  if (url === undefined) return undefined
  return { url, ...optional, ...(authentication === undefined ? {} : { authentication }) }
}

function readAuthentication(scope: Scope): NonNullable<A2aPushConfig['authentication']> | undefined {
  const scheme = readText(scope, 'scheme', { isRequired: true, maxLength: 64 })
  const credentials = readText(scope, 'credentials', { maxLength: maxTokenLength })
  // RFC 9110 section 5.6.2: anything else would not stay in its place in a header.
  if (scheme !== undefined && !/^[!#$%&'*+.^_`|~\w-]+$/.test(scheme)) wrong(scope, 'scheme', 'must be one word')
  return scheme === undefined ? undefined : { scheme, ...defined({ credentials }) }
}

function readHistoryLength(scope: Scope): number | undefined {
  return readNumber(scope, 'historyLength', { min: 0, max: maxHistory })
}

function readState(scope: Scope): TaskState | undefined {
  const name = readText(scope, 'status')
  if (name === undefined || name === 'TASK_STATE_UNSPECIFIED') return undefined
  return stateOf(name) ?? wrong(scope, 'status', 'is not a state of tasks')
}

function readInstant(scope: Scope, name: string): string | undefined {
  const value = memberOf(scope.of, name)
  if (value === undefined || value === null || value === '') return undefined
  const ms = typeof value === 'string' && instant.test(value) ? Date.parse(value) : Number.NaN
  return Number.isNaN(ms)
    ? wrong(scope, name, 'must be a time such as 2026-01-31T09:00:00.000Z')
    : new Date(ms).toISOString()
}
