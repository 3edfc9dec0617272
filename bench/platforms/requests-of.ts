// Which webhooks a scenario sends.
import { signedRequests } from '../requests.ts'
import type { Wire } from '../subject-settings.ts'
import { slackRequests } from './slack.ts'
import { telegramRequests } from './telegram.ts'

type Requests = (run: string, count: number, hasLink: boolean) => readonly Buffer[]

const requests: Readonly<Record<Wire, Requests>> = {
  loopback: signedRequests,
  telegram: telegramRequests,
  slack: slackRequests,
}

export function requestsOf(wire: Wire): Requests {
  return requests[wire]
}
