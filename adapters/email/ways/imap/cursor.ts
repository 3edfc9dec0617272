// The place in a mailbox, as it is kept between two holds.
import * as z from 'zod'

const cursorSchema = z.object({
  v: z.literal(1),
  /** UIDs mean something only under this number (RFC 3501 section 2.3.1.1). */
  validity: z.string().regex(/^\d{1,20}$/),
  /** The last that was taken. */
  uid: z.number().int().nonnegative(),
  /** What was there before we came is never taken, whatever number it gets. */
  from: z.iso.datetime(),
})

export type ImapCursor = z.output<typeof cursorSchema>

/** Undefined: there is none yet, or not one of ours. */
export function readCursor(text: string | undefined): ImapCursor | undefined {
  try {
    return cursorSchema.parse(JSON.parse(text ?? ''))
  } catch {
    return undefined
  }
}
