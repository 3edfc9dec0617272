// What a message can carry beside words and files, as far as it can be said in words.
import * as z from 'zod'

const line = z.string().max(4096)

export const locationSchema = z.object({
  latitude: z.number(),
  longitude: z.number(),
  live_period: z.int().optional().catch(undefined),
})

export const venueSchema = z.object({ location: locationSchema, title: line, address: line })

export const contactSchema = z.object({
  phone_number: line,
  first_name: line,
  last_name: line.optional().catch(undefined),
})

export const pollSchema = z.object({ question: line, options: z.array(z.object({ text: line })).max(64) })

export const diceSchema = z.object({ emoji: z.string().max(16), value: z.int() })

export const stickerSchema = z.object({ emoji: z.string().min(1).max(16) })

export const checklistSchema = z.object({
  title: line,
  tasks: z.array(z.object({ text: line, completion_date: z.int().optional().catch(undefined) })).max(256),
})

/** Blocks are looked at one by one: what one of them is must not hide the others. */
export const richSchema = z.object({ blocks: z.array(z.unknown()).max(500) })

/** Every field that some kind of rich block has; unknown kinds say what they can. */
export const richBlockSchema = z.looseObject({
  type: z.string(),
  text: z.unknown().optional(),
  size: z.int().min(1).max(6).optional().catch(undefined),
  language: z.string().max(32).optional().catch(undefined),
  expression: z.string().optional().catch(undefined),
  summary: z.unknown().optional(),
  caption: z.unknown().optional(),
  blocks: z.array(z.unknown()).optional().catch(undefined),
  cells: z
    .array(z.array(z.looseObject({ text: z.unknown().optional() })))
    .optional()
    .catch(undefined),
  items: z
    .array(
      z.looseObject({
        label: z.string().optional().catch(undefined),
        blocks: z.array(z.unknown()).catch([]),
        has_checkbox: z.boolean().optional().catch(undefined),
        is_checked: z.boolean().optional().catch(undefined),
        value: z.int().optional().catch(undefined),
      }),
    )
    .optional()
    .catch(undefined),
})

export const richTextSchema = z.looseObject({
  type: z.string(),
  text: z.unknown().optional(),
  url: z.string().optional().catch(undefined),
  expression: z.string().optional().catch(undefined),
  alternative_text: z.string().optional().catch(undefined),
})
