// Words of a configuration that evidence is compared with: seen as they are, and no wider than they look.
import * as z from 'zod'
import { endsInDelimiter } from './subject-prefix.ts'
import { hasOnlyVisibleCharacters } from './visible-text.ts'

export const wordSchema = z
  .string()
  .min(1)
  .max(512)
  .refine(hasOnlyVisibleCharacters, 'must not hold blanks at its ends or invisible characters')

export const delimitedPrefixSchema = wordSchema.refine(
  endsInDelimiter,
  'must end in "/", ":" or "#", or it would also take in longer names; add the delimiter',
)
