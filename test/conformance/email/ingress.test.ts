// Email ingress cases: EM-050 to EM-064.
import { conform } from '../conform.ts'
import { hookCases } from './ingress-hook-cases.ts'
import { floodCases, lineCases, sizeCases, smugglingCases, takingCases } from './ingress-smtp-cases.ts'

conform('taking a mail', takingCases)
conform('sizes', sizeCases)
conform('where a mail ends', smugglingCases)
conform('floods', floodCases)
conform('the line', lineCases)
conform('posts', hookCases)
