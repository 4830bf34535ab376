/* The operator slots of Tensor (number.c), joined to the other slots when the type is made. */
#ifndef DIP_EXT_NUMBER_H
#define DIP_EXT_NUMBER_H

#include <Python.h>

enum { NUMBER_SLOTS = 35 };
extern const PyType_Slot number_slots[NUMBER_SLOTS];

#endif
