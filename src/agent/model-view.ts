// What a model is shown of a conversation: what came before, with the speakers' names where there are several.
import type { Envelope, HistoricalMessage } from '../contract/index.ts'
import { partsText } from '../markdown/index.ts'
import type { SignalContext } from './context.ts'
import { asFields } from './fields.ts'
import type { HistoryInput } from './history/sliding-window.ts'
import { textLine } from './messages/create.ts'
import type { ModelAgentOptions } from './model-agent-options.ts'
import { isRemoteTaskLine } from './remote/remember.ts'

type Spoken = Pick<HistoricalMessage, 'role' | 'sender' | 'parts' | 'overheard'>

/** The policy sees turns of people and agent; without one the model sees its tool calls and their results as well. */
export function linesBefore(
  { history }: ModelAgentOptions,
  sender: HistoryInput['current']['sender'],
  context: Pick<SignalContext, 'history' | 'transcript'>,
): readonly Envelope[] {
  if (history === undefined) return context.transcript.filter((line) => !isRemoteTaskLine(line)).map(readableLine)
  return history({ history: context.history, current: { role: 'user', sender } }).messages.map(spokenEnvelope)
}

export function spokenEnvelope({ role, sender, parts, overheard }: Spoken): Envelope {
  const { address, display_name } = sender
  const how = overheard === true ? { overheard } : {}
  return textLine(role, partsText(parts), { sender: { address, display_name }, ...how })
}

export function isGroupConversation(kind: unknown): boolean {
  return kind === 'group' || kind === 'channel'
}

/**
 * A stored line keeps the text of its parts apart; the model is also told of files and links, as in the turn itself. How a
 * sender was proven is for policies: it is most of a line, and would be copied with it in every turn.
 */
function readableLine(line: Envelope): Envelope {
  const { parts } = line.payload
  const { address, display_name } = asFields(line.metadata['sender'])
  const metadata = address === undefined ? line.metadata : { ...line.metadata, sender: { address, display_name } }
  // The codec put them there, of what a message or a reply consisted of.
  const content = line.type === 'multimodal_part' && Array.isArray(parts) ? partsText(parts) : line.content
  return { ...line, content, metadata }
}
