// Names of threads in the table that says which agent a thread talks with. SQL statements build the same names.

/** What the conversation beside a conversation is called: commands about it wait for nothing but each other. */
export const controlPrefix = '~control '

/** The sender's own name for it. A length tells where the subject ends, whatever is in it. */
export function senderNamedThreadKey(subject: string, named: string): string {
  // Counted as a database counts: by characters, not by halves of them.
  return `~${[...subject].length}~${subject}~${named}`
}

/** The name of a thread that the platform confirms; it never begins like a sender's own. */
export function platformNamedThreadKey(named: string): string {
  return named.startsWith('~') ? `~~${named}` : named
}

// A conversation that its sender merely claims is named by its sender first, so that no other sender's claim leads there.

/** SQL for the part before the sender's own name for it. The subject is written without `~`, so it ends where it ends. */
export const escapedSenderThreadPrefixSql = (subject: string): string =>
  `'~' || replace(replace(coalesce(${subject}, ''), '%', '%25'), '~', '%7E') || '~'`

/** SQL for the same as `senderNamedThreadKey` of src/db/thread-names.ts, up to the name of the thread. */
export const senderNamedThreadPrefixSql = (subject: string): string =>
  `'~' || length(${subject}) || '~' || ${subject} || '~'`

/** SQL for the same as `platformNamedThreadKey`. */
export const platformNamedThreadKeySql = (named: string): string =>
  `case when starts_with(${named}, '~') then '~~' else '' end || ${named}`
