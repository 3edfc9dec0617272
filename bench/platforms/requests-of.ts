// Which webhooks a scenario sends.
import { signedRequests } from '../requests.ts'
import type { Wire } from '../subject-settings.ts'
import { a2aRequests } from './a2a.ts'
import { activitypubRequests } from './activitypub.ts'
import { emailRequests } from './email.ts'
import { slackRequests } from './slack.ts'
import { telegramRequests } from './telegram.ts'

type Wanted = { readonly subject: string; readonly run: string; readonly count: number; readonly hasLink: boolean }
type Requests = (wanted: Wanted) => readonly Buffer[] | Promise<readonly Buffer[]>

const requests: Readonly<Record<Wire, Requests>> = {
  loopback: ({ run, count }) => signedRequests(run, count),
  telegram: ({ run, count, hasLink }) => telegramRequests(run, count, hasLink),
  slack: ({ run, count, hasLink }) => slackRequests(run, count, hasLink),
  a2a: ({ count }) => a2aRequests('SendMessage', count),
  'a2a-stream': ({ count }) => a2aRequests('SendStreamingMessage', count),
  email: ({ subject, count }) => emailRequests(subject, count),
  activitypub: ({ run, count }) => activitypubRequests(run, count),
}

export function requestsOf(wire: Wire): Requests {
  return requests[wire]
}
