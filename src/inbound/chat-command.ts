// Commands for the gateway itself: answered at once, whatever the conversation is busy with.
import { type InboundMessage, type NormalizedMessage, textOf } from '../contract/index.ts'
import { controlPrefix } from '../db/thread-names.ts'

export type ControlCommand = { readonly name: string; readonly args: string }

/** The command a message is, if it is one of `names`. Where the channel marks no commands, its text says so. */
export function parseChatCommand(
  { channel, parts }: Pick<NormalizedMessage, 'channel' | 'parts'>,
  names: ReadonlySet<string>,
): ControlCommand | undefined {
  if ((channel?.event ?? 'new') !== 'new' || channel?.from_self === true) return undefined
  const text = textOf(parts).trim()
  const command = channel?.command ?? (text.startsWith('/') ? parseSlashCommand(text) : undefined)
  return command !== undefined && names.has(command.name) ? command : undefined
}

/**
 * The same claim to a thread, made to the conversation beside it. Where each message has a name of its own, what is beside is called
 * after the thread that is meant: by the message alone it could not be found what the command is about.
 */
export function toGatewayCommandThread(thread: InboundMessage['thread']): InboundMessage['thread'] {
  const newThreadKey = thread.platformVerified ? thread.newThreadKey : (thread.candidates[0] ?? thread.newThreadKey)
  return mapThreadNames({ ...thread, newThreadKey }, (name) => `${controlPrefix}${name}`)
}

/** The names that only the gateway gives, and those that became others by it. */
const controlName = /^~+control /m

/** A sender may call a thread what only the gateway calls one: then it is called otherwise, and by that for good. */
export function escapeGatewayCommandThreadNames(thread: InboundMessage['thread']): InboundMessage['thread'] {
  const { newThreadKey, candidates, aliases = [] } = thread
  // Hardly any thread is called so.
  if (!controlName.test([newThreadKey, ...candidates, ...aliases].join('\n'))) return thread
  return mapThreadNames(thread, (name) => (/^~+control /.test(name) ? `~${name}` : name))
}

function mapThreadNames(thread: InboundMessage['thread'], rename: (name: string) => string): InboundMessage['thread'] {
  const aliases = thread.aliases === undefined ? {} : { aliases: thread.aliases.map(rename) }
  return { ...thread, candidates: thread.candidates.map(rename), newThreadKey: rename(thread.newThreadKey), ...aliases }
}

function parseSlashCommand(text: string): ControlCommand | undefined {
  const [, name, args = ''] = /^\/([a-z]{1,32})(?:\s+([\s\S]*))?$/i.exec(text) ?? []
  return name === undefined ? undefined : { name: name.toLowerCase(), args: args.trim() }
}
