// The port of people: every person a decision was made about, what is stored about them, and which subjects are linked.

export type PrincipalLine = {
  readonly id: string
  readonly subject: string
  readonly createdAt: string
  readonly lastDecision: {
    readonly at: string
    readonly action: string
    readonly outcome: string
    readonly code: string | null
    readonly rule: string | null
    readonly connection: string | null
  } | null
  /** Those that count now. */
  readonly grants: readonly {
    readonly id: string
    readonly effect: 'allow' | 'deny'
    readonly role: string | null
    readonly connection: string | null
    readonly agent: string | null
  }[]
  /** Whom they act as; null: themselves. */
  readonly linkedTo: string | null
  /** Subjects that act as them. */
  readonly linkedFrom: readonly string[]
}

export type LinkLine = {
  readonly subject: string
  readonly principal: string
  readonly createdBy: string
  readonly createdAt: string
}

export type LinkOutcome =
  /** `messages`: how many of theirs that were held go on with it. */
  | { readonly kind: 'linked'; readonly link: LinkLine; readonly messages: number }
  | { readonly kind: 'linked_already'; readonly link: LinkLine }
  /** One person has one main subject: a link to or from a linked one would make a chain. */
  | { readonly kind: 'chain' }

export interface PrincipalStore {
  /** Newest first. */
  list(filter: { readonly limit: number; readonly before: string | null }): Promise<readonly PrincipalLine[]>
  links(): Promise<readonly LinkLine[]>
  /** A sender verified as `subject` is `principal` from the next decision on. */
  link(subject: string, principal: string, by: string): Promise<LinkOutcome>
  /** False: there was no such link. */
  unlink(subject: string, by: string): Promise<boolean>
}
