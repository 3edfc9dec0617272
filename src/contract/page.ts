// A page of a list that operators read, newest first.

export type Page = {
  readonly limit: number
  /** The `seq` of the last line of the page before this one. */
  readonly before?: number | null
  readonly connection?: string | null
}
