// Hop 6: neighbours become one message, in order; each keeps its own evidence beside it.
import type { NormalizedMessage } from '../contract/index.ts'
import type { StoredMessage } from '../db/turn-rows.ts'

/** The message an agent reads. The last one gives the id and the reply address; every part of every one is there. */
export function mergeMessages(
  members: readonly StoredMessage[],
  history: NormalizedMessage['history'],
): NormalizedMessage {
  const last = members.at(-1)
  if (last === undefined) throw new RangeError('a turn has at least one message')
  return { ...last, parts: members.flatMap((member) => member.parts), history: history ?? [], raw: null }
}
