// The port of forgetting: everything that is stored about one person, found and erased in steps of bounded size.

/** What there was of a person, by kind. Receipts stay as empty rows, so that a redelivery is known. */
export type ErasedCounts = {
  /** Messages whose receipt was emptied. */
  readonly receipts: number
  /** Of these, messages that were still waiting or being answered. */
  readonly inFlight: number
  /** Lines of transcripts: deleted, or emptied where others take part. */
  readonly lines: number
  /** What rooms remembered of theirs. */
  readonly overheard: number
  readonly conversations: number
  /** Conversations that go on without them. */
  readonly sharedConversations: number
  readonly sessions: number
  readonly turns: number
  /** Calls to platforms whose content was emptied, and those that had not left yet. */
  readonly calls: number
  readonly unsent: number
  /** Approvals and tool requests. */
  readonly waits: number
  readonly timers: number
  /** Files they sent, or that were made for them. Their bytes go with the next sweep. */
  readonly attachments: number
  readonly grants: number
  readonly pairings: number
  readonly tokens: number
  readonly consents: number
  readonly tombstones: number
  readonly chains: number
  /** What channels knew of them. */
  readonly records: number
  readonly links: number
  readonly principals: number
}

export type PartialErasedCounts = Partial<ErasedCounts>

/** One page of receipts: where the next one begins; null after the last. */
export type ReceiptPage = { readonly removed: PartialErasedCounts; readonly next: string | null }

export interface EraseStore {
  /** Every name a person goes by: the one given, and whatever an operator linked with it. */
  namesOf(principal: string): Promise<readonly string[]>
  count(names: readonly string[]): Promise<PartialErasedCounts>
  /** The next conversation they take part in. */
  nextConversation(names: readonly string[], after: string | null): Promise<string | undefined>
  /** Ends what is in flight there and takes it from the worker that holds it. */
  stop(names: readonly string[], conversation: string): Promise<PartialErasedCounts & { readonly isAlone: boolean }>
  /** Each of these erases one batch; nothing removed: there is no more. */
  eraseLines(names: readonly string[], conversation: string): Promise<PartialErasedCounts>
  eraseRuns(names: readonly string[], conversation: string): Promise<number>
  eraseTurns(names: readonly string[], conversation: string): Promise<PartialErasedCounts>
  /** Nothing removed: something new has come meanwhile. */
  leave(names: readonly string[], conversation: string): Promise<PartialErasedCounts>
  eraseOverheard(names: readonly string[]): Promise<PartialErasedCounts>
  erasePairings(names: readonly string[]): Promise<PartialErasedCounts>
  eraseReceipts(names: readonly string[], after: string | null): Promise<ReceiptPage>
  countReceipts(names: readonly string[], after: string | null): Promise<ReceiptPage>
  eraseAttachments(names: readonly string[]): Promise<PartialErasedCounts>
  eraseWritten(names: readonly string[]): Promise<PartialErasedCounts>
  /** The names themselves, last of all, and the audit line that says how much was removed, without a name. */
  close(names: readonly string[], end: EraseStep): Promise<PartialErasedCounts>
}

/** Without counting beforehand. */
export type ErasingStore = Omit<EraseStore, 'count' | 'countReceipts'> & {
  /** Receipts of no conversation, found without a walk. Where it is missing, the walk finds them, too. */
  eraseStrays?(names: readonly string[], after: string | null): Promise<ReceiptPage>
}

/** The conversation or the receipt that was looked at last. `strays`: they never took part in a conversation. */
export type EraseCursor = {
  readonly phase: 'conversations' | 'receipts' | 'strays'
  readonly after: string | null
}

/** `next`: where to go on; null when it is done. */
export type EraseStep = {
  readonly actor: string
  readonly next: EraseCursor | null
  readonly removed: PartialErasedCounts
}
