// Version 0.3 translated to and from 1.0. Only names and shapes change here; what is wrong with a value is found where 1.0 is
// read, so a value that fits nothing is passed on as it is.

import { type Fields, isPlainObject, type Json, type JsonObject } from '../../../src/lib/index.ts'
import {
  type A2aArtifact,
  type A2aMessage,
  type A2aPart,
  type A2aPushConfig,
  type A2aStatus,
  type A2aTask,
  type StreamResponse,
  toLegacyEnumState,
  toLegacyState,
} from './objects.ts'
import type { OperationName } from './operations.ts'
import { getCamelOrSnakeField } from './requests.ts'

/** JSON-RPC writes what its schema says, REST what its proto says. */
export type LegacyForm = 'rpc' | 'rest'

export type LegacyOptions = {
  readonly form: LegacyForm
  /** Whether a send that says nothing about it waits for the task to rest. */
  readonly blocksByDefault: boolean
}

type Draft = Record<string, unknown>

export function upgradeRequest(name: OperationName, params: Fields, options: LegacyOptions): Fields {
  switch (name) {
    case 'send':
    case 'stream':
      return upgradeSendParams(params, options)
    case 'pushCreate':
      return options.form === 'rpc' ? upgradeSetPushParams(params) : upgradeCreatePushParams(params)
    case 'pushGet':
    case 'pushDelete':
      return options.form === 'rest'
        ? params
        : dropNullishFields({ taskId: params['id'], id: params['pushNotificationConfigId'] ?? defaultConfigId })
    case 'pushList':
      return options.form === 'rest' ? params : dropNullishFields({ taskId: params['id'] })
    default:
      return params
  }
}

/** The id of a configuration that came without one. */
export const defaultConfigId = 'default'

function upgradeSendParams(params: Fields, { form, blocksByDefault }: LegacyOptions): Fields {
  // The proto's own name of the member, which its JSON name does not take away.
  const message = getCamelOrSnakeField(params, 'message') ?? (form === 'rest' ? params['request'] : undefined)
  const given = getCamelOrSnakeField(params, 'configuration')
  const configuration = isPlainObject(given) ? given : {}
  const push = getCamelOrSnakeField(configuration, form === 'rpc' ? 'pushNotificationConfig' : 'pushNotification')
  // A writer of the proto leaves out what is false; without any configuration the sender chose nothing.
  const unsaid = form === 'rest' && isPlainObject(given) ? false : blocksByDefault
  const blocking = getCamelOrSnakeField(configuration, 'blocking') ?? unsaid
  return dropNullishFields({
    message: isPlainObject(message) ? upgradeMessage(message, form) : message,
    metadata: getCamelOrSnakeField(params, 'metadata'),
    configuration:
      given !== undefined && given !== null && !isPlainObject(given)
        ? given
        : dropNullishFields({
            acceptedOutputModes: getCamelOrSnakeField(configuration, 'acceptedOutputModes'),
            historyLength: getCamelOrSnakeField(configuration, 'historyLength'),
            returnImmediately: typeof blocking === 'boolean' ? !blocking : blocking,
            taskPushNotificationConfig: isPlainObject(push) ? upgradePushConfig(push) : push,
          }),
  })
}

function upgradeMessage(message: Fields, form: LegacyForm): Draft {
  const content = form === 'rest' ? (getCamelOrSnakeField(message, 'content') ?? message['parts']) : message['parts']
  return dropNullishFields({
    messageId: getCamelOrSnakeField(message, 'messageId'),
    contextId: getCamelOrSnakeField(message, 'contextId'),
    taskId: getCamelOrSnakeField(message, 'taskId'),
    role: upgradeRole(getCamelOrSnakeField(message, 'role')),
    parts: Array.isArray(content) ? content.map((part: unknown) => upgradePart(part, form)) : content,
    metadata: getCamelOrSnakeField(message, 'metadata'),
    extensions: getCamelOrSnakeField(message, 'extensions'),
    referenceTaskIds: getCamelOrSnakeField(message, 'referenceTaskIds'),
  })
}

function upgradeRole(role: unknown): unknown {
  return role === 'user' ? 'ROLE_USER' : role === 'agent' ? 'ROLE_AGENT' : role
}

export function upgradePart(part: unknown, form: LegacyForm): unknown {
  if (!isPlainObject(part)) return part
  const kind = form === 'rpc' ? part['kind'] : ['text', 'file', 'data'].find((name) => name in part)
  const metadata = getCamelOrSnakeField(part, 'metadata')
  if (kind === 'text') return dropNullishFields({ text: part['text'], metadata })
  if (kind === 'file') return dropNullishFields({ ...upgradeFile(part['file']), metadata })
  if (kind === 'data') return upgradeData(form === 'rest' ? unwrapData(part['data']) : part['data'], metadata)
  return {}
}

function upgradeFile(file: unknown): Draft {
  if (!isPlainObject(file)) return {}
  const bytes = file['bytes'] ?? getCamelOrSnakeField(file, 'fileWithBytes')
  const uri = file['uri'] ?? getCamelOrSnakeField(file, 'fileWithUri')
  const about = { mediaType: getCamelOrSnakeField(file, 'mimeType'), filename: file['name'] }
  // A writer of the proto may name both members and leave one empty.
  return typeof bytes === 'string' && (bytes !== '' || !uri) ? { raw: bytes, ...about } : { url: uri, ...about }
}

function unwrapData(data: unknown): unknown {
  return isPlainObject(data) && 'data' in data ? data['data'] : data
}

/** 0.3 knows objects only: another value travels inside one, and says so. */
const wrappedMark = 'data_part_compat'

function upgradeData(data: unknown, metadata: unknown): Draft {
  if (!isPlainObject(metadata) || metadata[wrappedMark] !== true || !isPlainObject(data) || !('value' in data))
    return { data: data ?? null, ...dropNullishFields({ metadata }) }
  const { [wrappedMark]: _mark, ...rest } = metadata
  return { data: data['value'], ...(Object.keys(rest).length === 0 ? {} : { metadata: rest }) }
}

function upgradePushConfig(push: Fields): Draft {
  const authentication = push['authentication']
  const schemes = isPlainObject(authentication) ? authentication['schemes'] : undefined
  const scheme: unknown = Array.isArray(schemes) ? schemes[0] : schemes
  const credentials = isPlainObject(authentication) ? authentication['credentials'] : undefined
  return dropNullishFields({
    id: push['id'],
    url: push['url'],
    token: push['token'],
    authentication: scheme === undefined && !credentials ? undefined : dropNullishFields({ scheme, credentials }),
  })
}

function upgradeSetPushParams(params: Fields): Draft {
  const push = params['pushNotificationConfig']
  const config = isPlainObject(push) ? upgradePushConfig(push) : {}
  return { taskId: params['taskId'], ...config, id: config['id'] ?? defaultConfigId }
}

/** As the proto has it: `{ parent, configId, config: { name, pushNotificationConfig } }`; the path names the task. */
function upgradeCreatePushParams(params: Fields): Draft {
  const outer = isPlainObject(params['config']) ? params['config'] : params
  const inner = getCamelOrSnakeField(outer, 'pushNotificationConfig')
  const config = upgradePushConfig(isPlainObject(inner) ? inner : outer)
  const id =
    config['id'] || getCamelOrSnakeField(params, 'configId') || parsePushConfigId(outer['name']) || defaultConfigId
  return { ...config, taskId: params['taskId'], id }
}

function parsePushConfigId(name: unknown): string | undefined {
  const [, id] = typeof name === 'string' ? (/\/pushNotificationConfigs\/([^/]+)$/.exec(name) ?? []) : []
  return id
}

/** Without what is absent. */
function dropNullishFields(fields: Draft): Draft {
  return Object.fromEntries(Object.entries(fields).filter(([, value]) => value !== undefined && value !== null))
}

// Results in 0.3 have a kind on everything in JSON-RPC, and the older proto in REST.

/** `result` is what the operation gives in 1.0. */
export function downgradeResult(name: OperationName, result: JsonObject, form: LegacyForm): Json {
  // Each operation's own result, as render wrote it.
  const given = result as unknown
  switch (name) {
    case 'send':
      return downgradeFrame(given as StreamResponse, form, true)
    case 'get':
    case 'cancel':
      return downgradeTask(given as A2aTask, form)
    case 'list': {
      const { tasks } = given as { tasks: readonly A2aTask[] }
      return { ...result, tasks: tasks.map((task) => downgradeTask(task, form)) }
    }
    case 'pushCreate':
    case 'pushGet':
      return downgradePushConfig(given as A2aPushConfig, form)
    case 'pushList': {
      const { configs } = given as { configs: readonly A2aPushConfig[] }
      const all = configs.map((config) => downgradePushConfig(config, form))
      return form === 'rpc' ? all : { configs: all, nextPageToken: '' }
    }
    case 'pushDelete':
      return form === 'rpc' ? null : {}
    default:
      return result
  }
}

/** A send, as a client of ours writes it: it never waits for the task. */
export function downgradeSendParams(message: A2aMessage, form: LegacyForm): JsonObject {
  const member = form === 'rpc' ? 'message' : 'request'
  return { [member]: downgradeMessage(message, form), configuration: { blocking: false } }
}

/** `isLast`: nothing comes after it on this stream. */
export function downgradeFrame(frame: StreamResponse, form: LegacyForm, isLast: boolean): JsonObject {
  if ('task' in frame) return wrapRestMember('task', downgradeTask(frame.task, form), form)
  if ('message' in frame) return wrapRestMember('message', downgradeMessage(frame.message, form), form)
  if ('statusUpdate' in frame) {
    const { status, ...rest } = frame.statusUpdate
    const update = {
      ...kindMemberForRpc('status-update', form),
      ...rest,
      status: downgradeStatus(status, form),
      final: isLast,
    }
    return wrapRestMember('statusUpdate', update, form)
  }
  const { artifact, ...rest } = frame.artifactUpdate
  const update = { ...kindMemberForRpc('artifact-update', form), ...rest, artifact: downgradeArtifact(artifact, form) }
  return wrapRestMember('artifactUpdate', update, form)
}

function wrapRestMember(member: string, value: JsonObject, form: LegacyForm): JsonObject {
  return form === 'rpc' ? value : { [member]: value }
}

function kindMemberForRpc(kind: string, form: LegacyForm): JsonObject {
  return form === 'rpc' ? { kind } : {}
}

function downgradeTask({ status, artifacts, history, ...rest }: A2aTask, form: LegacyForm): JsonObject {
  return {
    ...kindMemberForRpc('task', form),
    ...rest,
    status: downgradeStatus(status, form),
    ...(artifacts === undefined ? {} : { artifacts: artifacts.map((each) => downgradeArtifact(each, form)) }),
    ...(history === undefined ? {} : { history: history.map((each) => downgradeMessage(each, form)) }),
  }
}

function downgradeStatus({ state, message, timestamp }: A2aStatus, form: LegacyForm): JsonObject {
  return {
    state: form === 'rpc' ? toLegacyState(state) : toLegacyEnumState(state),
    timestamp,
    ...(message === undefined ? {} : { message: downgradeMessage(message, form) }),
  }
}

function downgradeMessage({ parts, role, ...rest }: A2aMessage, form: LegacyForm): JsonObject {
  const content = parts.map((part) => downgradePart(part, form))
  if (form === 'rest') return { ...rest, role, content }
  return { kind: 'message', ...rest, role: role === 'ROLE_USER' ? 'user' : 'agent', parts: content }
}

function downgradeArtifact({ parts, ...rest }: A2aArtifact, form: LegacyForm): JsonObject {
  return { ...rest, parts: parts.map((part) => downgradePart(part, form)) }
}

function downgradePart({ text, raw, url, data, metadata, filename, mediaType }: A2aPart, form: LegacyForm): JsonObject {
  const about = metadata === undefined ? {} : { metadata }
  if (text !== undefined) return { ...kindMemberForRpc('text', form), text, ...about }
  if (raw === undefined && url === undefined) return downgradeData(data ?? null, metadata, form)
  const file = {
    ...(form === 'rpc'
      ? wrapBytesOrUri(raw, url, 'bytes', 'uri')
      : wrapBytesOrUri(raw, url, 'fileWithBytes', 'fileWithUri')),
    ...(filename === undefined ? {} : { name: filename }),
    ...(mediaType === undefined ? {} : { mimeType: mediaType }),
  }
  return { ...kindMemberForRpc('file', form), file, ...about }
}

function wrapBytesOrUri(raw: string | undefined, url: string | undefined, bytes: string, uri: string): JsonObject {
  return raw === undefined ? { [uri]: url ?? '' } : { [bytes]: raw }
}

function downgradeData(data: Json, metadata: JsonObject | undefined, form: LegacyForm): JsonObject {
  const isObject = typeof data === 'object' && data !== null && !Array.isArray(data)
  const shown = isObject ? data : { value: data }
  const about = isObject ? metadata : { ...metadata, [wrappedMark]: true }
  return {
    ...kindMemberForRpc('data', form),
    data: form === 'rpc' ? shown : { data: shown },
    ...(about === undefined ? {} : { metadata: about }),
  }
}

function downgradePushConfig({ taskId, id, url, token, authentication }: A2aPushConfig, form: LegacyForm): JsonObject {
  const pushNotificationConfig = {
    ...(id === undefined ? {} : { id }),
    url,
    ...(token === undefined ? {} : { token }),
    ...(authentication === undefined ? {} : { authentication: { schemes: [authentication.scheme] } }),
  }
  if (form === 'rpc') return { taskId, pushNotificationConfig }
  return { name: `tasks/${taskId}/pushNotificationConfigs/${id ?? ''}`, pushNotificationConfig }
}
