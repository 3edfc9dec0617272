// What a conversation is called that its sender merely claims: by its sender first, so that no other sender's claim leads there.

/** SQL for the part before the sender's own name for it. The subject is written without `~`, so it ends where it ends. */
export const ownThreads = (subject: string): string =>
  `'~' || replace(replace(coalesce(${subject}, ''), '%', '%25'), '~', '%7E') || '~'`

/** SQL for the same as `ownThread` of src/inbound/thread-names.ts, up to the name of the thread. */
export const turnedBy = (subject: string): string => `'~' || length(${subject}) || '~' || ${subject} || '~'`

/** SQL for the same as `sharedThread`. */
export const turnedThread = (named: string): string =>
  `case when starts_with(${named}, '~') then '~~' else '' end || ${named}`
