// Files as the Bot API describes them.
import * as z from 'zod'

/** Fields that carry a file. An animation comes as a document too, and is one thing. */
export const fileFields = [
  'photo',
  'animation',
  'video',
  'video_note',
  'voice',
  'audio',
  'sticker',
  'document',
] as const

export type FileField = (typeof fileFields)[number]

export const fileSchema = z.object({
  file_id: z.string().min(1).max(512),
  file_name: z.string().optional().catch(undefined),
  mime_type: z.string().min(1).max(127).optional().catch(undefined),
  file_size: z.int().nonnegative().optional().catch(undefined),
  is_animated: z.boolean().optional().catch(undefined),
  is_video: z.boolean().optional().catch(undefined),
})

export type TelegramFile = z.infer<typeof fileSchema>
