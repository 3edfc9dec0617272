// The shape of an explanation: a headline, a timeline, and what can be done.

export type Tone = 'plain' | 'good' | 'bad' | 'wait'

/** One line of the timeline; `at` is null for what has no moment of its own. */
export type TimelineEntry = {
  readonly at: string | null
  readonly title: string
  readonly text: string
  readonly tone: Tone
  /** Lines as they are, such as a stack. */
  readonly details?: readonly string[]
}

/** What an operator can do; `command` is ready to be typed. */
export type NextStep = { readonly text: string; readonly command: string | null }

export type MessageOutcome =
  | 'waiting'
  | 'held'
  | 'pairing'
  | 'in_turn'
  | 'replying'
  | 'answered'
  | 'merged'
  | 'refused'
  | 'ignored'
  | 'rejected'
  | 'dead_turn'
  | 'dead_send'
  | 'unknown_send'
  | 'unreadable'
  | 'turn'

export type Timeline = {
  readonly fate: MessageOutcome
  readonly headline: string
  readonly lines: readonly TimelineEntry[]
  readonly next: readonly NextStep[]
}

export function timelineEntry(at: string | null, title: string, text: string, tone: Tone = 'plain'): TimelineEntry {
  return { at, title, text: capitalizeFirst(text), tone }
}

export function capitalizeFirst(text: string): string {
  return `${text.slice(0, 1).toUpperCase()}${text.slice(1)}`
}
