// `parley explain <id>`: what became of a message, told by the running gateway.

import type { Explanation } from '../api/explain/explain.ts'
import type { Hit } from '../db/explain.ts'
import { exitCodes } from './exit.ts'
import { operatorCommand } from './operator.ts'
import { printPainted } from './output.ts'
import { renderCandidates, renderTimeline, type StoryLook } from './render-story.ts'

/** What the route answers: the story, or what the id may mean. */
type ExplainAnswer = { readonly explanation: Explanation } | { readonly candidates: readonly Hit[] }

export const explainCommand = operatorCommand({
  name: 'explain',
  description: 'Tell what became of a message: receipt, sender, turns, sends, and what to do.',
  examples: ['parley explain 0192f1c2-7d5e-7abc-8def-0123456789ab', 'parley explain 42:17 --json'],
  args: {
    id: {
      type: 'positional',
      required: true,
      description: 'Inbox, turn or outbox id, message id, platform id, delivery id, vendor id',
    },
    connection: {
      type: 'string',
      description: 'Only on this connection, channel/id as the books show it',
      valueHint: 'channel/id',
    },
  },
  async run({ args, callGateway, show }) {
    const answer = await callGateway<ExplainAnswer>('GET', explainPath(args.id, args.connection))
    if (args.json === true) show(answer, '')
    else printPainted(`${explainText(args.id, answer, terminalStyle()).trimEnd()}\n`)
    // Several things go by the id: it is for the operator to choose.
    if ('candidates' in answer) process.exitCode = exitCodes.failed
  },
})

function explainPath(id: string, connection: string | undefined): string {
  const filter = connection === undefined ? '' : `?connection=${encodeURIComponent(connection)}`
  return `/admin/explain/${encodeURIComponent(id)}${filter}`
}

function explainText(id: string, answer: ExplainAnswer, look: StoryLook): string {
  return 'candidates' in answer
    ? renderCandidates(id, answer.candidates, look)
    : renderTimeline(answer.explanation, look)
}

/** Colour is for eyes: never in a pipe, and not where it is unwanted. */
function terminalStyle(): StoryLook {
  const { isTTY, columns } = process.stdout
  const isColourful = isTTY === true && (process.env['NO_COLOR'] ?? '') === ''
  return { isColourful, columns: Math.min(columns || 100, 120), now: Date.now() }
}
