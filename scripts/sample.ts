import { join } from 'node:path'

/** The recording that `npm start` loads (sample/README.md), and a market and a party of it. */
export const SAMPLE = join(import.meta.dirname, '../sample/month.evts.gz')
export const SAMPLE_MARKET = '4d7eaaf19e71039d707188993493d1e9fe52bc7f429bba3d9fe5f9ee658d26c6'
export const SAMPLE_PARTY = '3e6558d0cb97f9bd3e8a25ae442f7ef7d95de26e56b6fd69df10be97e8a21563'
