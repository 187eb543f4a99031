import { randomUUID } from 'node:crypto';
import { expect, test } from '@jest/globals';
import type { Answer } from '../api-client.ts';
import { type DocumentedOperation, pathOf } from '../openapi/document.ts';
import type { SharedWalk } from './shared-walk.ts';

/** Ids of catalogs are everybody's: what another organization does with one changes nothing for the owner. */
const ofCatalogs = ['serverId', 'integrationId', 'event', 'type', 'actionId', 'secretName'];

const namesOf = ({ path }: DocumentedOperation) => [...path.matchAll(/\{(\w+)\}/g)].map(([, name]) => name!);

/** A body without what is different in every answer. */
const comparable = ({ status, body }: Answer, ids: string[]) => ({
  status,
  body: ids
    .reduce((text, id) => text.replaceAll(id, '<id>'), JSON.stringify(body))
    .replace(/"requestId":"[^"]+"/, '"requestId":"<request>"'),
});

export function checkTenancy(walk: SharedWalk): void {
  test.each(['another organization', 'the other environment'])('shows nothing of its things to %s', async (who) => {
    const { owner, stranger, things } = walk;
    const client = walk.client(who === 'another organization' ? stranger.testKey : owner.liveKey);
    const withIds = walk.ofKeys.filter((of) => namesOf(of).length > 0);
    const isOfCatalogs = (of: DocumentedOperation) => namesOf(of).every((name) => ofCatalogs.includes(name));
    await walk.changesNothing(async () => {
      for (const of of withIds.filter(isOfCatalogs)) {
        const { status } = await walk.call(client, of);
        if (of.path.includes('{serverId}')) expect(status).toBe(200);
        else expect(status).not.toBe(500);
      }
    });
    await walk.changesNothing(async () => {
      for (const of of withIds.filter((one) => !isOfCatalogs(one))) {
        const random = things.map((thing) =>
          ofCatalogs.includes(thing.parameter) ? thing : { ...thing, id: randomUUID() },
        );
        const foreign = await walk.call(client, of);
        const unknown = await walk.call(client, of, pathOf(of, random));
        // A number of a version is no id that an answer could reveal.
        const ids = [...things, ...random].map(({ id }) => id).filter((id) => id.length > 3);
        expect({ of: of.endpoint, status: foreign.status }).toEqual({ of: of.endpoint, status: 404 });
        expect(comparable(foreign, ids)).toEqual(comparable(unknown, ids));
      }
    });
  });
}
