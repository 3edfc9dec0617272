// Words of a configuration that evidence is compared with: seen as they are, and no wider than they look.
import * as z from 'zod'
import { isDelimited } from './subject-prefix.ts'
import { isVisible } from './visible-text.ts'

export const word = z
  .string()
  .min(1)
  .max(512)
  .refine(isVisible, 'must not hold blanks at its ends or invisible characters')

export const delimitedPrefix = word.refine(
  isDelimited,
  'must end in "/", ":" or "#", or it would also take in longer names; add the delimiter',
)
