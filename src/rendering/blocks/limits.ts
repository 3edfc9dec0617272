// Slack's limits on blocks, checked before anything is sent.

export const limits = {
  blocks: 50,
  /** Characters of all blocks of one message; more is refused although no single limit is broken. */
  message: 12_000,
  /** A fallback is read aloud or shown in a notification, so the beginning is enough. */
  fallback: 3_000,
  section: 3_000,
  header: 150,
  tableRows: 100,
  tableColumns: 20,
  tableCharacters: 10_000,
  indent: 8,
  url: 3_000,
  buttonText: 75,
  buttonValue: 2_000,
} as const
