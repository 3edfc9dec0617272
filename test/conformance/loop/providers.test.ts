import { conform } from '../conform.ts'
import { providerCases } from './provider-cases.ts'

conform("a provider's turns", providerCases)
