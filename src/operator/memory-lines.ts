// What became of ambient context, in words: whether a room remembers it, and which turns were given it.
import type { MessageFacts } from '../db/explain.ts'
import { type TimelineEntry, timelineEntry } from './story.ts'

const ambientReasons: ReadonlySet<string | null> = new Set(['not_addressed', 'ambient'])

export function ambientContextEntries({
  memory,
  reason,
  state,
  event,
  endedAt,
}: MessageFacts): readonly TimelineEntry[] {
  if (state !== 'refused' || !ambientReasons.has(reason) || event !== 'new') return []
  const used = memory.turns.map(({ id, at }) =>
    timelineEntry(at, 'Used', `it was given to turn ${id} as talk of the room.`),
  )
  if (memory.until !== null) {
    const text = `the room's talk is remembered for the next time the agent is asked there, this until ${memory.until}.`
    return [timelineEntry(endedAt, 'Remembered', text), ...used]
  }
  return used.length > 0 ? used : [timelineEntry(endedAt, 'Not remembered', 'nothing of what it said is kept.')]
}
