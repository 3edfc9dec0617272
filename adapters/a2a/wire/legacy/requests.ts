// Requests of version 0.3 as requests of 1.0. Only names and shapes change here; what is wrong with a value is found
// where 1.0 is read, so a value that fits nothing is passed on as it is.
import type { Fields } from '../fields.ts'
import { isFields, memberOf } from '../fields.ts'
import type { OperationName } from '../operations.ts'

/** JSON-RPC writes what its schema says, REST what its proto says. */
export type LegacyForm = 'rpc' | 'rest'

export type LegacyOptions = {
  readonly form: LegacyForm
  /** Whether a send that says nothing about it waits for the task to rest. */
  readonly blocksByDefault: boolean
}

type Draft = Record<string, unknown>

export function fromLegacy(name: OperationName, params: Fields, options: LegacyOptions): Fields {
  switch (name) {
    case 'send':
    case 'stream':
      return sendParams(params, options)
    case 'pushCreate':
      return options.form === 'rpc' ? setParams(params) : createParams(params)
    case 'pushGet':
    case 'pushDelete':
      return options.form === 'rest'
        ? params
        : picked({ taskId: params['id'], id: params['pushNotificationConfigId'] ?? defaultConfigId })
    case 'pushList':
      return options.form === 'rest' ? params : picked({ taskId: params['id'] })
    default:
      return params
  }
}

/** The id of a configuration that came without one. */
export const defaultConfigId = 'default'

function sendParams(params: Fields, { form, blocksByDefault }: LegacyOptions): Fields {
  // The proto's own name of the member, which its JSON name does not take away.
  const message = memberOf(params, 'message') ?? (form === 'rest' ? params['request'] : undefined)
  const given = memberOf(params, 'configuration')
  const configuration = isFields(given) ? given : {}
  const push = memberOf(configuration, form === 'rpc' ? 'pushNotificationConfig' : 'pushNotification')
  // A writer of the proto leaves out what is false; without any configuration the sender chose nothing.
  const unsaid = form === 'rest' && isFields(given) ? false : blocksByDefault
  const blocking = memberOf(configuration, 'blocking') ?? unsaid
  return picked({
    message: isFields(message) ? messageFrom(message, form) : message,
    metadata: memberOf(params, 'metadata'),
    configuration:
      given !== undefined && given !== null && !isFields(given)
        ? given
        : picked({
            acceptedOutputModes: memberOf(configuration, 'acceptedOutputModes'),
            historyLength: memberOf(configuration, 'historyLength'),
            returnImmediately: typeof blocking === 'boolean' ? !blocking : blocking,
            taskPushNotificationConfig: isFields(push) ? pushFrom(push) : push,
          }),
  })
}

function messageFrom(message: Fields, form: LegacyForm): Draft {
  const content = form === 'rest' ? (memberOf(message, 'content') ?? message['parts']) : message['parts']
  return picked({
    messageId: memberOf(message, 'messageId'),
    contextId: memberOf(message, 'contextId'),
    taskId: memberOf(message, 'taskId'),
    role: roleFrom(memberOf(message, 'role')),
    parts: Array.isArray(content) ? content.map((part: unknown) => partFrom(part, form)) : content,
    metadata: memberOf(message, 'metadata'),
    extensions: memberOf(message, 'extensions'),
    referenceTaskIds: memberOf(message, 'referenceTaskIds'),
  })
}

function roleFrom(role: unknown): unknown {
  return role === 'user' ? 'ROLE_USER' : role === 'agent' ? 'ROLE_AGENT' : role
}

function partFrom(part: unknown, form: LegacyForm): unknown {
  if (!isFields(part)) return part
  const kind = form === 'rpc' ? part['kind'] : ['text', 'file', 'data'].find((name) => name in part)
  const metadata = memberOf(part, 'metadata')
  if (kind === 'text') return picked({ text: part['text'], metadata })
  if (kind === 'file') return picked({ ...fileFrom(part['file']), metadata })
  if (kind === 'data') return dataFrom(form === 'rest' ? dataIn(part['data']) : part['data'], metadata)
  return {}
}

function fileFrom(file: unknown): Draft {
  if (!isFields(file)) return {}
  const bytes = file['bytes'] ?? memberOf(file, 'fileWithBytes')
  const uri = file['uri'] ?? memberOf(file, 'fileWithUri')
  const about = { mediaType: memberOf(file, 'mimeType'), filename: file['name'] }
  // A writer of the proto may name both members and leave one empty.
  return typeof bytes === 'string' && (bytes !== '' || !uri) ? { raw: bytes, ...about } : { url: uri, ...about }
}

function dataIn(data: unknown): unknown {
  return isFields(data) && 'data' in data ? data['data'] : data
}

/** 0.3 knows objects only: another value travels inside one, and says so. */
export const wrappedMark = 'data_part_compat'

function dataFrom(data: unknown, metadata: unknown): Draft {
  if (!isFields(metadata) || metadata[wrappedMark] !== true || !isFields(data) || !('value' in data))
    return { data: data ?? null, ...picked({ metadata }) }
  const { [wrappedMark]: _mark, ...rest } = metadata
  return { data: data['value'], ...(Object.keys(rest).length === 0 ? {} : { metadata: rest }) }
}

function pushFrom(push: Fields): Draft {
  const authentication = push['authentication']
  const schemes = isFields(authentication) ? authentication['schemes'] : undefined
  const scheme: unknown = Array.isArray(schemes) ? schemes[0] : schemes
  const credentials = isFields(authentication) ? authentication['credentials'] : undefined
  return picked({
    id: push['id'],
    url: push['url'],
    token: push['token'],
    authentication: scheme === undefined && !credentials ? undefined : picked({ scheme, credentials }),
  })
}

function setParams(params: Fields): Draft {
  const push = params['pushNotificationConfig']
  const config = isFields(push) ? pushFrom(push) : {}
  return { taskId: params['taskId'], ...config, id: config['id'] ?? defaultConfigId }
}

/** As the proto has it: `{ parent, configId, config: { name, pushNotificationConfig } }`; the path names the task. */
function createParams(params: Fields): Draft {
  const outer = isFields(params['config']) ? params['config'] : params
  const inner = memberOf(outer, 'pushNotificationConfig')
  const config = pushFrom(isFields(inner) ? inner : outer)
  const id = config['id'] || memberOf(params, 'configId') || lastOf(outer['name']) || defaultConfigId
  return { ...config, taskId: params['taskId'], id }
}

function lastOf(name: unknown): string | undefined {
  const [, id] = typeof name === 'string' ? (/\/pushNotificationConfigs\/([^/]+)$/.exec(name) ?? []) : []
  return id
}

/** Without what is absent. */
function picked(fields: Draft): Draft {
  return Object.fromEntries(Object.entries(fields).filter(([, value]) => value !== undefined && value !== null))
}
