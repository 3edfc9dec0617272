// What a runtime under test reaches over the network; test/setup/runtime.ts starts it.

export type RuntimePeers = {
  readonly databaseUrl: string
  /** A second one, for tests whose Worker is not the one the queue wakes. */
  readonly secondDatabaseUrl: string
  /** A third one, for mail. */
  readonly mailDatabaseUrl: string
  readonly emptyDatabaseUrl: string
  readonly apiRoot: string
  /** GET: what was sent so far, as JSON. */
  readonly sentUrl: string
  /** The name system as JSON: it knows sender.example, which signs its mail with `mailKey` as `s1`. */
  readonly namesUrl: string
  readonly mailKey: string
}
