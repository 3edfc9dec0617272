// Which webhooks a scenario sends.
import { signedRequests } from '../requests.ts'
import type { Wire } from '../subject-settings.ts'
import { a2aRequests } from './a2a.ts'
import { slackRequests } from './slack.ts'
import { telegramRequests } from './telegram.ts'

type Requests = (run: string, count: number, hasLink: boolean) => readonly Buffer[]

const requests: Readonly<Record<Wire, Requests>> = {
  loopback: signedRequests,
  telegram: telegramRequests,
  slack: slackRequests,
  a2a: a2aRequests('SendMessage'),
  'a2a-stream': a2aRequests('SendStreamingMessage'),
}

export function requestsOf(wire: Wire): Requests {
  return requests[wire]
}
