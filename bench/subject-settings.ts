// What the driver and a subject say to each other: settings in one environment variable, figures over the channel.
import type { Zone } from './platforms/email.ts'

export const settingsVariable = 'BENCH_SUBJECT'
export const adminToken = 'admin-token-of-the-bench'

/** What stands behind the gateway; `nothing` answers every commit at once. */
export type Storage = 'nothing' | 'postgres'

/** Whose webhooks they are. */
export type Wire = 'loopback' | 'telegram' | 'slack' | 'a2a' | 'a2a-stream' | 'email' | 'activitypub'

export type SubjectSettings =
  | { readonly kind: 'floor' }
  /** `apiUrl`: where it finds the platform's own interface. */
  | {
      readonly kind: 'rival'
      readonly name: string
      readonly wire: Wire
      readonly apiUrl: string
      readonly zone?: Zone
      /** Answers every message through the platform's interface, instead of only counting it. */
      readonly answers?: boolean
      /** Where it keeps what it keeps. */
      readonly databaseUrl?: string
    }
  /** Written by hand, with nothing of the gateway's own code. */
  | { readonly kind: 'reference'; readonly name: string; readonly apiUrl: string; readonly databaseUrl: string }
  | {
      readonly kind: 'gateway'
      readonly wire: Wire
      readonly storage: Storage
      /** Whether turns are taken and replies are sent while messages come in. */
      readonly drains: boolean
      readonly databaseUrl?: string
      readonly dataDir: string
      /** Where replies go, over real HTTP; without it they are taken inside of the process. */
      readonly apiUrl?: string
      /** What the name system says. */
      readonly zone?: Zone
      /** Where those live who write, where they are asked for. */
      readonly peopleUrl?: string
    }

/** A subject that is up. */
export type Subject = {
  readonly port: number
  /** Where it takes mail, where that is another. */
  readonly mailPort?: number
  readonly statements: ReadonlyMap<string, number>
  readonly sends: () => number
  /** How many messages its handler was given, where it is not ours. */
  readonly handled?: () => number
  readonly stop: () => Promise<void>
}

/** Totals since the process began; the driver subtracts. */
export type Figures = {
  readonly cpuMicros: number
  readonly rssBytes: number
  /** Statements by name. */
  readonly statements: Readonly<Record<string, number>>
  readonly sends: number
  readonly handled: number
}

export type FromSubject =
  | { readonly type: 'ready'; readonly port: number; readonly mailPort?: number }
  | { readonly type: 'refused'; readonly why: string }
  | { readonly type: 'figures'; readonly figures: Figures }

export type ToSubject = { readonly type: 'figures' } | { readonly type: 'stop' }
