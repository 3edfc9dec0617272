// Requests of version 0.3 as requests of 1.0. Only names and shapes change here; what is wrong with a value is found
// where 1.0 is read, so a value that fits nothing is passed on as it is.
import type { Fields } from '../fields.ts'
import { getMember, isPlainObject } from '../fields.ts'
import type { OperationName } from '../operations.ts'

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
        : dropAbsent({ taskId: params['id'], id: params['pushNotificationConfigId'] ?? defaultConfigId })
    case 'pushList':
      return options.form === 'rest' ? params : dropAbsent({ taskId: params['id'] })
    default:
      return params
  }
}

/** The id of a configuration that came without one. */
export const defaultConfigId = 'default'

function upgradeSendParams(params: Fields, { form, blocksByDefault }: LegacyOptions): Fields {
  // The proto's own name of the member, which its JSON name does not take away.
  const message = getMember(params, 'message') ?? (form === 'rest' ? params['request'] : undefined)
  const given = getMember(params, 'configuration')
  const configuration = isPlainObject(given) ? given : {}
  const push = getMember(configuration, form === 'rpc' ? 'pushNotificationConfig' : 'pushNotification')
  // A writer of the proto leaves out what is false; without any configuration the sender chose nothing.
  const unsaid = form === 'rest' && isPlainObject(given) ? false : blocksByDefault
  const blocking = getMember(configuration, 'blocking') ?? unsaid
  return dropAbsent({
    message: isPlainObject(message) ? upgradeMessage(message, form) : message,
    metadata: getMember(params, 'metadata'),
    configuration:
      given !== undefined && given !== null && !isPlainObject(given)
        ? given
        : dropAbsent({
            acceptedOutputModes: getMember(configuration, 'acceptedOutputModes'),
            historyLength: getMember(configuration, 'historyLength'),
            returnImmediately: typeof blocking === 'boolean' ? !blocking : blocking,
            taskPushNotificationConfig: isPlainObject(push) ? upgradePushConfig(push) : push,
          }),
  })
}

function upgradeMessage(message: Fields, form: LegacyForm): Draft {
  const content = form === 'rest' ? (getMember(message, 'content') ?? message['parts']) : message['parts']
  return dropAbsent({
    messageId: getMember(message, 'messageId'),
    contextId: getMember(message, 'contextId'),
    taskId: getMember(message, 'taskId'),
    role: upgradeRole(getMember(message, 'role')),
    parts: Array.isArray(content) ? content.map((part: unknown) => upgradePart(part, form)) : content,
    metadata: getMember(message, 'metadata'),
    extensions: getMember(message, 'extensions'),
    referenceTaskIds: getMember(message, 'referenceTaskIds'),
  })
}

function upgradeRole(role: unknown): unknown {
  return role === 'user' ? 'ROLE_USER' : role === 'agent' ? 'ROLE_AGENT' : role
}

function upgradePart(part: unknown, form: LegacyForm): unknown {
  if (!isPlainObject(part)) return part
  const kind = form === 'rpc' ? part['kind'] : ['text', 'file', 'data'].find((name) => name in part)
  const metadata = getMember(part, 'metadata')
  if (kind === 'text') return dropAbsent({ text: part['text'], metadata })
  if (kind === 'file') return dropAbsent({ ...upgradeFile(part['file']), metadata })
  if (kind === 'data') return upgradeData(form === 'rest' ? unwrapData(part['data']) : part['data'], metadata)
  return {}
}

function upgradeFile(file: unknown): Draft {
  if (!isPlainObject(file)) return {}
  const bytes = file['bytes'] ?? getMember(file, 'fileWithBytes')
  const uri = file['uri'] ?? getMember(file, 'fileWithUri')
  const about = { mediaType: getMember(file, 'mimeType'), filename: file['name'] }
  // A writer of the proto may name both members and leave one empty.
  return typeof bytes === 'string' && (bytes !== '' || !uri) ? { raw: bytes, ...about } : { url: uri, ...about }
}

function unwrapData(data: unknown): unknown {
  return isPlainObject(data) && 'data' in data ? data['data'] : data
}

/** 0.3 knows objects only: another value travels inside one, and says so. */
export const wrappedMark = 'data_part_compat'

function upgradeData(data: unknown, metadata: unknown): Draft {
  if (!isPlainObject(metadata) || metadata[wrappedMark] !== true || !isPlainObject(data) || !('value' in data))
    return { data: data ?? null, ...dropAbsent({ metadata }) }
  const { [wrappedMark]: _mark, ...rest } = metadata
  return { data: data['value'], ...(Object.keys(rest).length === 0 ? {} : { metadata: rest }) }
}

function upgradePushConfig(push: Fields): Draft {
  const authentication = push['authentication']
  const schemes = isPlainObject(authentication) ? authentication['schemes'] : undefined
  const scheme: unknown = Array.isArray(schemes) ? schemes[0] : schemes
  const credentials = isPlainObject(authentication) ? authentication['credentials'] : undefined
  return dropAbsent({
    id: push['id'],
    url: push['url'],
    token: push['token'],
    authentication: scheme === undefined && !credentials ? undefined : dropAbsent({ scheme, credentials }),
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
  const inner = getMember(outer, 'pushNotificationConfig')
  const config = upgradePushConfig(isPlainObject(inner) ? inner : outer)
  const id = config['id'] || getMember(params, 'configId') || parseConfigId(outer['name']) || defaultConfigId
  return { ...config, taskId: params['taskId'], id }
}

function parseConfigId(name: unknown): string | undefined {
  const [, id] = typeof name === 'string' ? (/\/pushNotificationConfigs\/([^/]+)$/.exec(name) ?? []) : []
  return id
}

/** Without what is absent. */
function dropAbsent(fields: Draft): Draft {
  return Object.fromEntries(Object.entries(fields).filter(([, value]) => value !== undefined && value !== null))
}
