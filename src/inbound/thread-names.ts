// Names of threads in the table that says which agent a thread talks with. Statements build the same names (src/storage/statements/own-thread.ts).

/** What the conversation beside a conversation is called: commands about it wait for nothing but each other. */
export const controlPrefix = '~control '

/** The sender's own name for it. A length tells where the subject ends, whatever is in it. */
export function ownThread(subject: string, named: string): string {
  // Counted as a database counts: by characters, not by halves of them.
  return `~${[...subject].length}~${subject}~${named}`
}

/** The name of a thread that the platform confirms; it never begins like a sender's own. */
export function sharedThread(named: string): string {
  return named.startsWith('~') ? `~~${named}` : named
}
