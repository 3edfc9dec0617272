// Turns in words: every attempt of every turn, and the steps of its journal.
import { thrownLines } from '../contract/index.ts'
import type {
  DeliveryFacts,
  ErrorFacts,
  Facts,
  MessageFacts,
  StepFacts,
  TurnEvent,
  TurnFacts,
} from './explain-store.ts'
import { nameOf } from './message-lines.ts'
import { reasonWords } from './reason-words.ts'
import { between, spanWords } from './span-words.ts'
import { line, type StoryLine } from './story.ts'

export function turnLines(turn: TurnFacts, { message, deliveries }: Facts): readonly StoryLine[] {
  if (turn.kind === 'amendment') return amendment(turn)
  const own = deliveries.filter((delivery) => delivery.turnId === turn.id)
  // Unless it failed, its only event is that the sender was told something, and that stands with the message.
  if (turn.kind === 'door')
    return [
      ...turn.errors.map(thrown),
      ...turn.history.filter(({ what }) => what === 'dead').flatMap((each) => gaveUp(each, own)),
    ]
  return [
    began(turn, message),
    ...turn.steps.map(step),
    ...turn.errors.map(thrown),
    ...turn.history.flatMap((event, index) => happened(event, turn.history[index - 1], own)),
  ]
}

function amendment(turn: TurnFacts): readonly StoryLine[] {
  return [
    line(turn.startedAt, 'Recorded', 'The change was written into the transcript. It is answered by nothing.', 'good'),
  ]
}

function began(
  { startedAt, members, signal, attempt, history, overheard }: TurnFacts,
  message: MessageFacts | null,
): StoryLine {
  if (signal !== null) return line(startedAt, 'Turn', `began because of a ${signal}, not because of a message.`)
  const waited = message === null ? '' : ` ${between(message.receivedAt, startedAt)} after the message was received`
  const split = history.find((event) => event.what === 'split')
  const taken = members.filter((member) => member.event === 'new')
  const company =
    taken.length > 1
      ? `, with ${taken.length} messages of one sender taken as one: ${taken.map(nameOf).join(', ')}`
      : split?.members === undefined
        ? ''
        : `, with ${split.members.length} messages of one sender taken as one`
  const cut = history.length >= 20 && attempt > 1 ? ' Only its last twenty events are known.' : ''
  const talk = overheard === 1 ? 'one message' : `${overheard} messages`
  const knew = overheard === 0 ? '' : ` The agent was given ${talk} said around it before.`
  return line(startedAt, 'Turn', `began${waited}${company}.${knew}${cut}`)
}

function step({ name, state, error, answeredBy, startedAt, finishedAt }: StepFacts): StoryLine {
  const title = `"${name.replace(/:[0-9a-f]{16}(?=#|$)/, '')}"`
  const span = finishedAt === null ? '' : ` after ${between(startedAt, finishedAt)}`
  switch (state) {
    case 'finished':
      return line(startedAt, 'Step', `${title} finished${span}${answeredBy ? `, answered by ${answeredBy}` : ''}.`)
    case 'undone':
      return line(startedAt, 'Step', `${title} met an outage${span}: nothing happened, so it is run again.`, 'wait')
    case 'failed':
      return line(startedAt, 'Step', `${title} failed${span}${error === null ? '' : ` (${error})`}.`, 'bad')
    default:
      return line(
        startedAt,
        'Step',
        `${title} was begun and has not ended: whether it took effect is not known yet.`,
        'wait',
      )
  }
}

/** What was thrown again and again is shown once. */
function thrown(
  { at, attempt, source, name, agent, error }: ErrorFacts,
  index: number,
  all: readonly ErrorFacts[],
): StoryLine {
  const before = all.findLastIndex((each, place) => place < index && isSame(each.error, error))
  const whose = `the ${source.replaceAll('_', ' ')}${name === undefined ? '' : ` ${name}`}${agent === undefined ? '' : ` of ${agent}`}`
  const again = before === -1 ? 'threw' : 'threw the same again'
  const told = line(at, 'Error', `attempt ${attempt}: ${whose} ${again}.`, 'bad')
  return before === -1 ? { ...told, details: thrownLines(error) } : told
}

function isSame(a: ErrorFacts['error'], b: ErrorFacts['error']): boolean {
  return a.name === b.name && a.message === b.message && a.stack[0] === b.stack[0]
}

const waits: ReadonlySet<string> = new Set(['failed', 'outage', 'stopping'])

function happened(
  event: TurnEvent,
  before: TurnEvent | undefined,
  deliveries: readonly DeliveryFacts[],
): readonly StoryLine[] {
  const why = reasonWords(event.code ?? event.what)
  const again = event.retryInMs === undefined ? '' : ` Tried again after ${spanWords(event.retryInMs)}.`
  switch (event.what) {
    case 'failed':
      return [line(event.at, 'Failed', `attempt ${event.attempt}: ${why}.${again}`, 'bad')]
    case 'outage':
      return [line(event.at, 'Outage', `attempt ${event.attempt}: ${why}. Not counted as a failure.${again}`, 'wait')]
    case 'stopping':
      return [line(event.at, 'Put back', `attempt ${event.attempt}: ${why}. Nothing counts against the turn.`, 'wait')]
    case 'died':
      return [
        line(
          event.at,
          'Died',
          `its process died ${times(event.deaths ?? 1)}: attempt ${event.attempt} ended without a word, by a kill, a crash or for want of memory. A turn that this happens to is kept apart from others.`,
          'bad',
        ),
      ]
    case 'returned':
      return [line(event.at, 'Came back', 'a process that had seemed dead was alive. Nothing counts against the turn.')]
    case 'resumed':
      return [resumed(event, before)]
    case 'split':
      return [
        line(event.at, 'Split', `${why}. Its messages go on one by one, so that only the guilty one fails.`, 'wait'),
      ]
    case 'replied':
      return [line(event.at, 'Replied', `the agent's answer was stored together with ${calls(deliveries, 'reply')}.`)]
    case 'silent':
      return event.code === undefined
        ? [line(event.at, 'Silent', 'the agent chose to say nothing.')]
        : [line(event.at, 'Ended', `nothing of it was left to be said: ${why}.`)]
    case 'dead':
      return gaveUp(event, deliveries)
    case 'reopened':
      return [line(event.at, 'Reopened', 'because an operator had its reply sent again.')]
    case 'resubmitted':
      return [line(event.at, 'Resubmitted', 'An operator queued it again. What was done is not done again.')]
    case 'anew':
      return [line(event.at, 'Resubmitted', 'An operator queued a message anew: what was done for it may repeat.')]
    case 'answered':
      return []
    default:
      return [line(event.at, 'Turn', event.what)]
  }
}

function resumed(event: TurnEvent, before: TurnEvent | undefined): StoryLine {
  if (before !== undefined && waits.has(before.what))
    return line(event.at, 'Resumed', `attempt ${event.attempt} began.`)
  const text = `attempt ${event.attempt} began: the process that ran the one before was gone and its lease had run out. Finished steps are not run again.`
  return line(event.at, 'Resumed', text, 'wait')
}

/** A turn dies of its agent, with an apology; what it dies of at the platform is told with its calls. */
function gaveUp(event: TurnEvent, deliveries: readonly DeliveryFacts[]): readonly StoryLine[] {
  if (event.code?.startsWith('delivery_') === true) return []
  const apology = deliveries.some((delivery) => delivery.purpose === 'apology')
    ? ' An apology was stored with it.'
    : ' No apology could be written.'
  const text = `after attempt ${event.attempt}: ${reasonWords(event.code ?? 'dead')}.${apology}`
  return [line(event.at, 'Given up', text, 'bad')]
}

function times(count: number): string {
  return count === 1 ? 'once' : `${count} times`
}

function calls(deliveries: readonly DeliveryFacts[], purpose: string): string {
  const count = deliveries.filter((delivery) => delivery.purpose === purpose).length
  return count === 1 ? 'one call to send' : `${count} calls to send, in order`
}
