// mail 9.6 (EM-050 to EM-064).
import { conform } from '../conform.ts'
import { hookCases } from './ingress-hook-cases.ts'
import { floodCases, lineCases, sizeCases, smugglingCases, takingCases } from './ingress-smtp-cases.ts'

conform('mail 9.6: taking a mail', takingCases)
conform('mail 9.6: sizes', sizeCases)
conform('mail 9.6: where a mail ends', smugglingCases)
conform('mail 9.6: floods', floodCases)
conform('mail 9.6: the line', lineCases)
conform('mail 9.6: posts', hookCases)
