// What the operations look at: the same as the documents, and the time.
import type { DocumentDeps } from '../documents/settings.ts'

export type OperateDeps = DocumentDeps & { readonly now: () => number }
