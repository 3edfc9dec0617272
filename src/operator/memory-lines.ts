// What became of ambient context, in words: whether a room remembers it, and which turns were given it.
import type { MessageFacts } from './explain-store.ts'
import { line, type StoryLine } from './story.ts'

const overheardReasons: ReadonlySet<string | null> = new Set(['not_addressed', 'ambient'])

export function memoryLines({ memory, reason, state, event, endedAt }: MessageFacts): readonly StoryLine[] {
  if (state !== 'refused' || !overheardReasons.has(reason) || event !== 'new') return []
  const used = memory.turns.map(({ id, at }) => line(at, 'Used', `it was given to turn ${id} as talk of the room.`))
  if (memory.until !== null) {
    const text = `the room's talk is remembered for the next time the agent is asked there, this until ${memory.until}.`
    return [line(endedAt, 'Remembered', text), ...used]
  }
  return used.length > 0 ? used : [line(endedAt, 'Not remembered', 'nothing of what it said is kept.')]
}
