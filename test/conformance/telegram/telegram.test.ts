// The cases of slack 8.5-8.7, 8.9 and msg 17.4, as rows.
import { conform } from '../conform.ts'
import { normalizationCases } from './normalization-cases.ts'
import { outboundCases } from './outbound-cases.ts'

conform('Telegram in', normalizationCases)
conform('Telegram out', outboundCases)
