// Where an element of rich text stands.
import type { JsonObject } from '../../contract/index.ts'
import type { BlocksOptions } from './options.ts'

export type Place = { readonly options: BlocksOptions; readonly isQuoted: boolean; readonly indent: number }

/** Quotes hold only text; a bar beside a list or a code block says that it is quoted too. */
export function quoteBorder({ isQuoted }: Place): JsonObject {
  return isQuoted ? { border: 1 } : {}
}
