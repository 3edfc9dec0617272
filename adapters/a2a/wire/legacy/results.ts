// Results of 1.0 as 0.3 writes them: a kind on everything in JSON-RPC, the older proto in REST.
import type { Json, JsonObject } from '../../../../src/contract/index.ts'
import type { A2aArtifact, A2aMessage, A2aPart, A2aPushConfig, A2aStatus, A2aTask, StreamResponse } from '../objects.ts'
import type { OperationName } from '../operations.ts'
import { legacyEnumState, legacyState } from '../states.ts'
import { type LegacyForm, wrappedMark } from './requests.ts'

/** `result` is what the operation gives in 1.0. */
export function toLegacy(name: OperationName, result: JsonObject, form: LegacyForm): Json {
  // Each operation's own result, as render wrote it.
  const given = result as unknown
  switch (name) {
    case 'send':
      return legacyFrame(given as StreamResponse, form, true)
    case 'get':
    case 'cancel':
      return taskTo(given as A2aTask, form)
    case 'list': {
      const { tasks } = given as { tasks: readonly A2aTask[] }
      return { ...result, tasks: tasks.map((task) => taskTo(task, form)) }
    }
    case 'pushCreate':
    case 'pushGet':
      return pushTo(given as A2aPushConfig, form)
    case 'pushList': {
      const { configs } = given as { configs: readonly A2aPushConfig[] }
      const all = configs.map((config) => pushTo(config, form))
      return form === 'rpc' ? all : { configs: all, nextPageToken: '' }
    }
    case 'pushDelete':
      return form === 'rpc' ? null : {}
    default:
      return result
  }
}

/** `isLast`: nothing comes after it on this stream. */
export function legacyFrame(frame: StreamResponse, form: LegacyForm, isLast: boolean): JsonObject {
  if ('task' in frame) return wrapped('task', taskTo(frame.task, form), form)
  if ('message' in frame) return wrapped('message', messageTo(frame.message, form), form)
  if ('statusUpdate' in frame) {
    const { status, ...rest } = frame.statusUpdate
    const update = { ...kindOf('status-update', form), ...rest, status: statusTo(status, form), final: isLast }
    return wrapped('statusUpdate', update, form)
  }
  const { artifact, ...rest } = frame.artifactUpdate
  const update = { ...kindOf('artifact-update', form), ...rest, artifact: artifactTo(artifact, form) }
  return wrapped('artifactUpdate', update, form)
}

function wrapped(member: string, value: JsonObject, form: LegacyForm): JsonObject {
  return form === 'rpc' ? value : { [member]: value }
}

function kindOf(kind: string, form: LegacyForm): JsonObject {
  return form === 'rpc' ? { kind } : {}
}

function taskTo({ status, artifacts, history, ...rest }: A2aTask, form: LegacyForm): JsonObject {
  return {
    ...kindOf('task', form),
    ...rest,
    status: statusTo(status, form),
    ...(artifacts === undefined ? {} : { artifacts: artifacts.map((each) => artifactTo(each, form)) }),
    ...(history === undefined ? {} : { history: history.map((each) => messageTo(each, form)) }),
  }
}

function statusTo({ state, message, timestamp }: A2aStatus, form: LegacyForm): JsonObject {
  return {
    state: form === 'rpc' ? legacyState(state) : legacyEnumState(state),
    timestamp,
    ...(message === undefined ? {} : { message: messageTo(message, form) }),
  }
}

function messageTo({ parts, role, ...rest }: A2aMessage, form: LegacyForm): JsonObject {
  const content = parts.map((part) => partTo(part, form))
  if (form === 'rest') return { ...rest, role, content }
  return { kind: 'message', ...rest, role: role === 'ROLE_USER' ? 'user' : 'agent', parts: content }
}

function artifactTo({ parts, ...rest }: A2aArtifact, form: LegacyForm): JsonObject {
  return { ...rest, parts: parts.map((part) => partTo(part, form)) }
}

function partTo({ text, raw, url, data, metadata, filename, mediaType }: A2aPart, form: LegacyForm): JsonObject {
  const about = metadata === undefined ? {} : { metadata }
  if (text !== undefined) return { ...kindOf('text', form), text, ...about }
  if (raw === undefined && url === undefined) return dataTo(data ?? null, metadata, form)
  const file = {
    ...(form === 'rpc' ? bytesOrUri(raw, url, 'bytes', 'uri') : bytesOrUri(raw, url, 'fileWithBytes', 'fileWithUri')),
    ...(filename === undefined ? {} : { name: filename }),
    ...(mediaType === undefined ? {} : { mimeType: mediaType }),
  }
  return { ...kindOf('file', form), file, ...about }
}

function bytesOrUri(raw: string | undefined, url: string | undefined, bytes: string, uri: string): JsonObject {
  return raw === undefined ? { [uri]: url ?? '' } : { [bytes]: raw }
}

function dataTo(data: Json, metadata: JsonObject | undefined, form: LegacyForm): JsonObject {
  const isObject = typeof data === 'object' && data !== null && !Array.isArray(data)
  const shown = isObject ? data : { value: data }
  const about = isObject ? metadata : { ...metadata, [wrappedMark]: true }
  return {
    ...kindOf('data', form),
    data: form === 'rpc' ? shown : { data: shown },
    ...(about === undefined ? {} : { metadata: about }),
  }
}

function pushTo({ taskId, id, url, token, authentication }: A2aPushConfig, form: LegacyForm): JsonObject {
  const pushNotificationConfig = {
    ...(id === undefined ? {} : { id }),
    url,
    ...(token === undefined ? {} : { token }),
    ...(authentication === undefined ? {} : { authentication: { schemes: [authentication.scheme] } }),
  }
  if (form === 'rpc') return { taskId, pushNotificationConfig }
  return { name: `tasks/${taskId}/pushNotificationConfigs/${id ?? ''}`, pushNotificationConfig }
}
