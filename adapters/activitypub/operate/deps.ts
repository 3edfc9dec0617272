// Dependencies of the operations: the same as of the documents, and the time.
import type { DocumentDeps } from '../documents/settings.ts'

export type OperateDeps = DocumentDeps & { readonly now: () => number }

/** For what is done about posts. */
export type PostDeps = Pick<DocumentDeps, 'records' | 'places' | 'agents' | 'settings'> & {
  /** Longest post, in characters. */
  readonly limit: number
}
