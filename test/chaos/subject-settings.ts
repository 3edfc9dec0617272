// What the driver tells the process under test, as JSON in one environment variable.
import type { SendClass } from '../doubles/loopback/deliver.ts'
import type { OrderText } from './shapes-order.ts'
import type { ShopAddress } from './shapes-shop.ts'

export const settingsVariable = 'CRASH_TEST_SUBJECT'
export const adminToken = 'admin-token-of-the-crash-tests'
export const loopbackSecret = 'loopback-secret-of-the-crash-tests'

/** Where to end or stop: at the `hit`-th time the failpoint is passed after the first message was accepted. */
export type FailpointPlan = {
  readonly name: string
  readonly hit: number
  readonly action: 'kill' | 'stop'
  /** Counted from the start of the process: it goes on with a turn, and nothing is accepted before that. */
  readonly isFromStart?: boolean
  /** Counted from the command `arm`: what comes before it is done in peace. */
  readonly isArmed?: boolean
}

export type SubjectConnection = {
  readonly id: string
  readonly sendClass: SendClass
  readonly vendorUrl: string
  /** Who answers; without it the agent whose every message is one effect. */
  readonly agent?: string
  /** Subjects that may speak; absent = everybody. */
  readonly allow?: readonly string[]
  /** Longer replies are split. */
  readonly maxTextLength?: number
}

export type SubjectSettings = {
  /** Absent: the PostgreSQL that it starts in `dataDir`. */
  readonly databaseUrl?: string
  readonly dataDir: string
  readonly toolUrl: string
  /** A model server; with it there is an agent `steps` that is a model with tools. */
  readonly modelUrl?: string
  /** A model server; with it there is an agent `words` that says what the model says, served over A2A. */
  readonly wordsUrl?: string
  /** An agent elsewhere, by its base URL; with it there is an agent that passes everything on, served over A2A. */
  readonly peerUrl?: string
  /** A mail server; with it people can write mail to the agent `post`, at this port. */
  readonly mail?: { readonly port: number; readonly smtpUrl: string }
  /** A server of other people, by its origin; with it the agent `garden` is an account at the port. */
  readonly fediverse?: string
  /** With it there are the agents of the natural shapes, which act there. */
  readonly shop?: ShopAddress
  /** Absent: any. */
  readonly port?: number
  readonly leaseMs: number
  readonly connections: readonly SubjectConnection[]
  readonly failpoints: readonly FailpointPlan[]
  /** With it there is a second agent, `second`, which does what the first does. */
  readonly turns?: { readonly deadlineMs: number }
  /** With it there is an agent `poison`, whose messages may end its process; that has so little memory. */
  readonly heapMegabytes?: number
  /** Turns on which a process died run in processes of their own, as the product does it; without it, in this one. */
  readonly isForking?: boolean
  /** When a call with an unknown outcome is looked up; absent: when the lease and the call are over. */
  readonly reconcileAfterMs?: number
}

/** What the driver may ask of the process, a line each: to count failpoints from now on, or to say how much memory is in use. */
export type SubjectCommand = 'arm' | 'memory'

export const crashes = ['kill', 'heap', 'exit', 'spin'] as const
export type Death = (typeof crashes)[number]

/** What a message asks of the agent under test. It is the message's text. */
export type Wish =
  | 'plain'
  /** Thinks longer than a lease is renewed. */
  | 'slow'
  /** Fails on its first attempt, after its effect. */
  | 'flaky'
  /** Fails on its first attempt, before any effect: messages that share its turn run one by one after that. */
  | 'flaky early'
  /** Fails on every attempt. */
  | 'poison'
  /** Never returns, and listens to nothing; after its effect, or without one. */
  | 'hang'
  | 'hang before'
  /** The same as `plain`, of the second agent. */
  | '@second plain'
  /** Its effect is declared idempotent: it may be tried again, always under the same key. */
  | 'keyed'
  /** Wants to be woken once, shortly after. */
  | 'remind'
  /** Its effect is not answered before the tool stub opens the gate. */
  | 'gate'
  /** For the agent that is a model: so many steps with a tool of this kind, for a message of this id. */
  | `steps ${'keyed' | 'plain' | 'asked'} ${string}`
  /** For the agent `poison`: ends its process, this way. */
  | Death
  /** For the same: so many steps, a second each. */
  | `long ${number}`
  /** A command. */
  | `/${string}`
  /** Wants a reply of so many parts, without any effect. */
  | `parts ${number}`
  /** Of the buyer: something that needs consent, and something that does not. */
  | `buy ${string}`
  | 'hello'
  /** Of the agents of the natural shapes: something they do at the shop. */
  | OrderText
