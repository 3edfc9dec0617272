// Parses the requests of version 1.0, each as a whole: what it asks for, or every field that is wrong.
import { isPlainId, maxInlineBytes, maxTextLength, type TaskState } from '../../../src/contract/index.ts'
import { type Fields, isPlainObject, type Json, type JsonObject } from '../../../src/lib/index.ts'
import type { FieldViolation } from './faults.ts'
import { type A2aMessage, type A2aPart, type A2aPushConfig, parseState, standardBase64 } from './objects.ts'

export type SendRequest = {
  readonly message: A2aMessage
  readonly metadata?: JsonObject
  readonly acceptedOutputModes: readonly string[]
  readonly push?: Omit<A2aPushConfig, 'taskId'>
  readonly historyLength?: number
  readonly returnImmediately: boolean
}
type TaskRequest = { readonly id: string; readonly historyLength?: number }
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
type PushRequest = { readonly taskId: string; readonly id: string }
type PushListRequest = { readonly taskId: string }

const maxHistory = 10_000
const maxTokenLength = 4096
const instant = /^\d{4}-\d{2}-\d{2}T\d{2}:\d{2}:\d{2}(\.\d{1,9})?(Z|[+-]\d{2}:\d{2})$/

export function readSendRequest(params: Fields): ReadResult<SendRequest> {
  const scope = createFieldScope(params)
  const at = readObjectField(scope, 'message', true)
  const message = at === undefined ? undefined : readA2aMessage(at)
  const configuration = readObjectField(scope, 'configuration')
  const metadata = readStructField(scope, 'metadata')
  const rest = configuration === undefined ? noConfiguration : readSendConfiguration(configuration)
  return toReadResult(scope, message === undefined ? undefined : { message, ...rest, ...dropUndefined({ metadata }) })
}

const noConfiguration = { acceptedOutputModes: [], returnImmediately: false } as const

function readSendConfiguration(scope: FieldScope): Omit<SendRequest, 'message' | 'metadata'> {
  const at = readObjectField(scope, 'taskPushNotificationConfig')
  const push = at === undefined ? undefined : readPushConfigFields(at)
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
  return toReadResult(scope, id === undefined ? undefined : { id, ...dropUndefined({ historyLength }) })
}

export function readListRequest(params: Fields): ReadResult<ListRequest> {
  const scope = createFieldScope(params)
  return toReadResult(scope, {
    ...dropUndefined({
      contextId: readTextField(scope, 'contextId'),
      state: readStateFilter(scope),
      pageToken: readTextField(scope, 'pageToken', { maxLength: maxTokenLength }),
      historyLength: readHistoryLength(scope),
      since: readTimestampField(scope, 'statusTimestampAfter'),
    }),
    pageSize: readNumberField(scope, 'pageSize', { min: 1, max: 100 }) ?? 50,
    includeArtifacts: readFlagField(scope, 'includeArtifacts') ?? false,
  })
}

export function readPushConfigRequest(params: Fields): ReadResult<A2aPushConfig> {
  const scope = createFieldScope(params)
  const taskId = readTextField(scope, 'taskId', { isRequired: true })
  const push = readPushConfigFields(scope)
  return toReadResult(scope, taskId === undefined || push === undefined ? undefined : { ...push, taskId })
}

export function readTaskAndPushConfigIds(params: Fields): ReadResult<PushRequest> {
  const scope = createFieldScope(params)
  const taskId = readTextField(scope, 'taskId', { isRequired: true })
  const id = readTextField(scope, 'id', { isRequired: true })
  return toReadResult(scope, taskId === undefined || id === undefined ? undefined : { taskId, id })
}

export function readPushListRequest(params: Fields): ReadResult<PushListRequest> {
  const scope = createFieldScope(params)
  const taskId = readTextField(scope, 'taskId', { isRequired: true })
  // There are never more than fit on one page, so that no token of ours can come back.
  readNumberField(scope, 'pageSize', { min: 0, max: 1000 })
  if (readTextField(scope, 'pageToken', { maxLength: maxTokenLength }) !== undefined)
    reportViolation(scope, 'pageToken', 'is not a token of this list')
  return toReadResult(scope, taskId === undefined ? undefined : { taskId })
}

function readPushConfigFields(scope: FieldScope): Omit<A2aPushConfig, 'taskId'> | undefined {
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

function readTimestampField(scope: FieldScope, name: string): string | undefined {
  const value = getCamelOrSnakeField(scope.of, name)
  if (value === undefined || value === null || value === '') return undefined
  const ms = typeof value === 'string' && instant.test(value) ? Date.parse(value) : Number.NaN
  return Number.isNaN(ms)
    ? reportViolation(scope, name, 'must be a time such as 2026-01-31T09:00:00.000Z')
    : new Date(ms).toISOString()
}

// A message is checked field by field, and written down in the one spelling we keep.

const maxParts = 64
const contents = ['text', 'raw', 'url', 'data'] as const

function readA2aMessage(scope: FieldScope): A2aMessage | undefined {
  const messageId = readTextField(scope, 'messageId', { isRequired: true })
  const role = readTextField(scope, 'role', { isRequired: true })
  const isUser = role === 'ROLE_USER'
  if (role !== undefined && !isUser)
    reportViolation(scope, 'role', 'must be ROLE_USER: agents answer, they do not send')
  const parts = readListField(scope, 'parts', readA2aPart, { isRequired: true, max: maxParts })
  if (parts?.every(isBlankPart) === true && scope.problems.length === 0)
    reportViolation(scope, 'parts', 'must say something')
  const optional = dropUndefined({
    contextId: readTextField(scope, 'contextId'),
    taskId: readTextField(scope, 'taskId'),
    metadata: readStructField(scope, 'metadata'),
    extensions: readTextsField(scope, 'extensions'),
    referenceTaskIds: readTextsField(scope, 'referenceTaskIds'),
  })
  if (messageId === undefined || !isUser || parts === undefined) return undefined
  return { messageId, role, parts, ...optional }
}

function readA2aPart(scope: FieldScope): A2aPart | undefined {
  const given = contents.filter((name) => hasCamelOrSnakeField(scope.of, name))
  // `data` may be null, which is a value; of the others null means that there is none.
  const present = given.filter((name) => name === 'data' || getCamelOrSnakeField(scope.of, name) !== null)
  const [kind, another] = present
  if (kind === undefined || another !== undefined)
    return reportViolation(scope, '', 'must have exactly one of text, raw, url and data')
  const content = readPartContent(scope, kind)
  const about = dropUndefined({
    metadata: readStructField(scope, 'metadata'),
    filename: readTextField(scope, 'filename'),
    mediaType: readTextField(scope, 'mediaType'),
  })
  return content === undefined ? undefined : { ...content, ...about }
}

function readPartContent(scope: FieldScope, kind: (typeof contents)[number]): A2aPart | undefined {
  const value = getCamelOrSnakeField(scope.of, kind)
  if (kind === 'data') {
    const isLarge = new TextEncoder().encode(JSON.stringify(value)).length > maxInlineBytes
    return isLarge
      ? reportViolation(scope, kind, `must have at most ${maxInlineBytes} bytes as JSON`)
      : { data: castToJson(value) }
  }
  if (typeof value !== 'string') return reportViolation(scope, kind, 'must be a string')
  switch (kind) {
    case 'text':
      return value.length > maxTextLength
        ? reportViolation(scope, kind, `must have at most ${maxTextLength} characters`)
        : { text: value }
    case 'raw':
      return readRawPart(scope, value)
    case 'url':
      return URL.canParse(value) && /^[a-z][a-z0-9+.-]*:/i.test(value) && !/[\s\u0000-\u001f]/.test(value)
        ? { url: value }
        : reportViolation(scope, kind, 'must be an absolute URL')
  }
}

function readRawPart(scope: FieldScope, value: string): A2aPart | undefined {
  const raw = standardBase64(value)
  if (raw === undefined) return reportViolation(scope, 'raw', 'must be base64')
  if (raw.replace(/=+$/, '').length * 3 > maxInlineBytes * 4)
    return reportViolation(scope, 'raw', `must have at most ${maxInlineBytes} bytes; send a url to a larger file`)
  return { raw }
}

function isBlankPart({ text }: A2aPart): boolean {
  return text !== undefined && text.trim() === ''
}

type Defined<T> = { readonly [Key in keyof T]?: Exclude<T[Key], undefined> }

/** Without what is undefined: it would be a member in some readers' eyes. */
function dropUndefined<T extends Readonly<Record<string, Json | readonly Json[] | undefined>>>(fields: T): Defined<T> {
  // Only what is there is left; the type says so.
  return Object.fromEntries(Object.entries(fields).filter(([, value]) => value !== undefined)) as Defined<T>
}

// Reads members of a request with the path of whatever is wrong. Both spellings of a name are taken, unknown members are
// ignored, and null stands for absent (ProtoJSON).

/** An object on its way to being read: where it stands, and what was found wrong so far. */
type FieldScope = { readonly of: Fields; readonly at: string; readonly problems: FieldViolation[] }

export type ReadResult<T> =
  | { readonly ok: true; readonly value: T }
  | { readonly ok: false; readonly violations: readonly FieldViolation[] }

const maxIdLength = 256
const wholeNumber = /^-?\d{1,10}$/

function createFieldScope(of: Fields, at = '', problems: FieldViolation[] = []): FieldScope {
  return { of, at, problems }
}

function toReadResult<T>({ problems }: FieldScope, value: T | undefined): ReadResult<T> {
  return value === undefined || problems.length > 0 ? { ok: false, violations: problems } : { ok: true, value }
}

function joinFieldPath({ at }: FieldScope, name: string): string {
  return at === '' || name === '' ? at + name : `${at}.${name}`
}

function reportViolation(scope: FieldScope, name: string, description: string): undefined {
  scope.problems.push({ field: joinFieldPath(scope, name), description })
  return undefined
}

/** The member under its own name, else under the one it has in the proto. */
export function getCamelOrSnakeField(of: Fields, name: string): unknown {
  return Object.hasOwn(of, name) ? of[name] : of[snakeCase(name)]
}

export function hasCamelOrSnakeField(of: Fields, name: string): boolean {
  return Object.hasOwn(of, name) || Object.hasOwn(of, snakeCase(name))
}

function snakeCase(name: string): string {
  return name.replace(/[A-Z]/g, (letter) => `_${letter.toLowerCase()}`)
}

type TextRule = { readonly isRequired?: boolean; readonly maxLength?: number }

/** Without control characters; an empty one is an absent one. */
function readTextField(scope: FieldScope, name: string, rule: TextRule = {}): string | undefined {
  const { isRequired = false, maxLength = maxIdLength } = rule
  const value = getCamelOrSnakeField(scope.of, name)
  if (value === undefined || value === null || value === '')
    return isRequired ? reportViolation(scope, name, 'is required and must not be empty') : undefined
  const text = checkPlainText(value, maxLength)
  return 'problem' in text ? reportViolation(scope, name, text.problem) : text.is
}

function checkPlainText(value: unknown, maxLength: number): { readonly is: string } | { readonly problem: string } {
  if (typeof value !== 'string') return { problem: 'must be a string' }
  if (value.trim() === '') return { problem: 'must not be blank' }
  if (value.length > maxLength) return { problem: `must have at most ${maxLength} characters` }
  return isPlainId(value)
    ? { is: value }
    : { problem: 'must not contain control characters, changes of direction or half a character' }
}

type NumberRule = { readonly min: number; readonly max: number }

function readNumberField(scope: FieldScope, name: string, { min, max }: NumberRule): number | undefined {
  const value = getCamelOrSnakeField(scope.of, name)
  if (value === undefined || value === null) return undefined
  const number = typeof value === 'string' && wholeNumber.test(value) ? Number(value) : value
  if (typeof number !== 'number' || !Number.isInteger(number))
    return reportViolation(scope, name, 'must be a whole number')
  return number < min || number > max ? reportViolation(scope, name, `must be from ${min} to ${max}`) : number
}

function readFlagField(scope: FieldScope, name: string): boolean | undefined {
  const value = getCamelOrSnakeField(scope.of, name)
  if (value === undefined || value === null) return undefined
  if (value === true || value === 'true') return true
  return value === false || value === 'false' ? false : reportViolation(scope, name, 'must be true or false')
}

function readObjectField(scope: FieldScope, name: string, isRequired = false): FieldScope | undefined {
  const value = getCamelOrSnakeField(scope.of, name)
  if (value === undefined || value === null) return isRequired ? reportViolation(scope, name, 'is required') : undefined
  if (!isPlainObject(value)) return reportViolation(scope, name, 'must be an object')
  return createFieldScope(value, joinFieldPath(scope, name), scope.problems)
}

/** An object that is carried without being read. It came as JSON, so JSON is all it holds. */
function readStructField(scope: FieldScope, name: string): JsonObject | undefined {
  return readObjectField(scope, name)?.of as JsonObject | undefined
}

type ListRule = { readonly isRequired?: boolean; readonly max: number }

function readListField<T>(
  scope: FieldScope,
  name: string,
  read: (item: FieldScope, index: number) => T | undefined,
  { isRequired = false, max }: ListRule,
): readonly T[] | undefined {
  const value = getCamelOrSnakeField(scope.of, name)
  if (value === undefined || value === null) return isRequired ? reportViolation(scope, name, 'is required') : undefined
  if (!Array.isArray(value)) return reportViolation(scope, name, 'must be a list')
  if (isRequired && value.length === 0) return reportViolation(scope, name, 'must have at least one element')
  if (value.length > max) return reportViolation(scope, name, `must have at most ${max} elements`)
  return value.flatMap((item: unknown, index) => {
    const place = `${name}[${index}]`
    if (!isPlainObject(item)) {
      reportViolation(scope, place, 'must be an object')
      return []
    }
    const got = read(createFieldScope(item, joinFieldPath(scope, place), scope.problems), index)
    return got === undefined ? [] : [got]
  })
}

function readTextsField(scope: FieldScope, name: string, max = 64): readonly string[] | undefined {
  const value = getCamelOrSnakeField(scope.of, name)
  if (value === undefined || value === null) return undefined
  if (!Array.isArray(value) || value.length > max)
    return reportViolation(scope, name, `must be a list of at most ${max} strings`)
  return value.flatMap((item: unknown, index) => {
    const text = checkPlainText(item, maxIdLength)
    if ('is' in text) return [text.is]
    reportViolation(scope, `${name}[${index}]`, text.problem)
    return []
  })
}

/** Any JSON at all; for values that only their sender reads. */
function castToJson(value: unknown): Json {
  // It was parsed from JSON: the compiler cannot know.
  return value as Json
}
