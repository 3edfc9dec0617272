// Results of 1.0 as 0.3 writes them: a kind on everything in JSON-RPC, the older proto in REST.
import type { Json, JsonObject } from '../../../../src/contract/index.ts'
import type { A2aArtifact, A2aMessage, A2aPart, A2aPushConfig, A2aStatus, A2aTask, StreamResponse } from '../objects.ts'
import type { OperationName } from '../operations.ts'
import { legacyEnumState, legacyState } from '../states.ts'
import { type LegacyForm, wrappedMark } from './requests.ts'

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

/** `isLast`: nothing comes after it on this stream. */
export function downgradeFrame(frame: StreamResponse, form: LegacyForm, isLast: boolean): JsonObject {
  if ('task' in frame) return wrapRestMember('task', downgradeTask(frame.task, form), form)
  if ('message' in frame) return wrapRestMember('message', downgradeMessage(frame.message, form), form)
  if ('statusUpdate' in frame) {
    const { status, ...rest } = frame.statusUpdate
    const update = {
      ...kindMember('status-update', form),
      ...rest,
      status: downgradeStatus(status, form),
      final: isLast,
    }
    return wrapRestMember('statusUpdate', update, form)
  }
  const { artifact, ...rest } = frame.artifactUpdate
  const update = { ...kindMember('artifact-update', form), ...rest, artifact: downgradeArtifact(artifact, form) }
  return wrapRestMember('artifactUpdate', update, form)
}

function wrapRestMember(member: string, value: JsonObject, form: LegacyForm): JsonObject {
  return form === 'rpc' ? value : { [member]: value }
}

function kindMember(kind: string, form: LegacyForm): JsonObject {
  return form === 'rpc' ? { kind } : {}
}

function downgradeTask({ status, artifacts, history, ...rest }: A2aTask, form: LegacyForm): JsonObject {
  return {
    ...kindMember('task', form),
    ...rest,
    status: downgradeStatus(status, form),
    ...(artifacts === undefined ? {} : { artifacts: artifacts.map((each) => downgradeArtifact(each, form)) }),
    ...(history === undefined ? {} : { history: history.map((each) => downgradeMessage(each, form)) }),
  }
}

function downgradeStatus({ state, message, timestamp }: A2aStatus, form: LegacyForm): JsonObject {
  return {
    state: form === 'rpc' ? legacyState(state) : legacyEnumState(state),
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
  if (text !== undefined) return { ...kindMember('text', form), text, ...about }
  if (raw === undefined && url === undefined) return downgradeData(data ?? null, metadata, form)
  const file = {
    ...(form === 'rpc' ? bytesOrUri(raw, url, 'bytes', 'uri') : bytesOrUri(raw, url, 'fileWithBytes', 'fileWithUri')),
    ...(filename === undefined ? {} : { name: filename }),
    ...(mediaType === undefined ? {} : { mimeType: mediaType }),
  }
  return { ...kindMember('file', form), file, ...about }
}

function bytesOrUri(raw: string | undefined, url: string | undefined, bytes: string, uri: string): JsonObject {
  return raw === undefined ? { [uri]: url ?? '' } : { [bytes]: raw }
}

function downgradeData(data: Json, metadata: JsonObject | undefined, form: LegacyForm): JsonObject {
  const isObject = typeof data === 'object' && data !== null && !Array.isArray(data)
  const shown = isObject ? data : { value: data }
  const about = isObject ? metadata : { ...metadata, [wrappedMark]: true }
  return {
    ...kindMember('data', form),
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
